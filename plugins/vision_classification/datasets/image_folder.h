// Images in folders that are named for their classes, as ImageNet is unpacked.
//
//   absl::StatusOr<std::unique_ptr<ImageFolder>> images =
//       ImageFolder::Open("/data/Imagenet/train", Decode::kExact);
//
// torchvision's ImageFolder: the folders in `root`, sorted by name, are the
// classes; samples are the files below them, sorted, whose names end as images
// do. What a file holds is told by its bytes, not by its name; JPEG, PNG and
// WebP are read (images/decode.h). Names are bytes: they need not be UTF-8.
// Only the names are in memory, end to end.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_IMAGE_FOLDER_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_IMAGE_FOLDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/data/dataset.h"

namespace slipway::vision_classification {

enum class Decode {
  // The pixels that Pillow decodes.
  kExact,
  // The file itself (images/pixels.h): the first transform decodes what it
  // needs of it, a JPEG at the size that it needs.
  kFast,
};

// Safe from several threads.
class ImageFolder : public data::Dataset {
 public:
  // NOT_FOUND if there is no such folder, no class in it, or a class without
  // an image; PERMISSION_DENIED for a folder that cannot be listed.
  static absl::StatusOr<std::unique_ptr<ImageFolder>> Open(std::string root,
                                                           Decode decode);

  int64_t size() const override { return static_cast<int64_t>(ends_.size()); }
  // byte[height, width, 3], or byte[n] (kFast), and the class, long[]. The
  // error of a file that cannot be read or decoded begins with its path.
  absl::StatusOr<data::Sample> Get(int64_t index) const override;
  std::vector<std::string> ClassNames() const override { return classes_; }

  // The file of a sample.
  std::string Path(int64_t index) const;

 private:
  ImageFolder(std::string root, Decode decode);
  absl::Status AddClass(const std::string& name);
  int64_t ClassOf(int64_t index) const;

  const std::string root_;
  const Decode decode_;
  std::vector<std::string> classes_;
  // The first sample of each class.
  std::vector<int64_t> firsts_;
  // Paths below root_, end to end, and where each ends.
  std::string paths_;
  std::vector<uint64_t> ends_;
};

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_IMAGE_FOLDER_H_
