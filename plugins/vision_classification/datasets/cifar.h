// CIFAR-10 and CIFAR-100 in their "binary version", read from a folder.
//
//   absl::StatusOr<std::unique_ptr<Cifar>> cifar =
//       Cifar::Open(Cifar::Cifar10(), "data/cifar10", /*train=*/true);
//
// The files are those of https://www.cs.toronto.edu/~kriz/cifar.html (A.
// Krizhevsky, "Learning multiple layers of features from tiny images", 2009):
// records of one label byte (two in CIFAR-100: coarse, fine) and 3072 bytes,
// which are the red, the green and the blue plane of a 32x32 image. Images are
// read from the files one by one as they are asked for: nothing but the pages
// that the system caches is in memory, once for all ranks.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_CIFAR_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_CIFAR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/data/dataset.h"

namespace slipway::vision_classification {

// Safe from several threads.
class Cifar : public data::Dataset {
 public:
  // Which of the two it is, and how its files look.
  struct Format {
    const char* name;
    const char* folder;
    std::vector<std::string> train_files;
    std::vector<std::string> test_files;
    // The file with a class name a line.
    const char* names_file;
    // Label bytes before each image; the last one is the class.
    int64_t label_bytes;
    int64_t classes;
  };
  static const Format& Cifar10();
  static const Format& Cifar100();

  // The training images, or those for validation. `root` is the folder of the
  // files, or the one that holds that folder. NOT_FOUND lists the files that
  // are expected and those that are missing; DATA_LOSS names a file that is no
  // whole number of records.
  static absl::StatusOr<std::unique_ptr<Cifar>> Open(const Format& format,
                                                     const std::string& root,
                                                     bool train);
  ~Cifar() override;

  int64_t size() const override;
  // An image byte[32, 32, 3] and its class, long[]. DATA_LOSS names the file
  // and the record whose label is no class.
  absl::StatusOr<data::Sample> Get(int64_t index) const override;
  // From the names' file; empty if there is none.
  std::vector<std::string> ClassNames() const override { return names_; }

 private:
  // A file, open, and how many records come before its first.
  struct File {
    std::string path;
    int descriptor;
    int64_t first;
    int64_t records;
  };

  explicit Cifar(const Format& format) : format_(format) {}
  absl::Status Add(const std::string& path);
  void ReadNames(const std::string& path);
  int64_t record_bytes() const;

  const Format& format_;
  std::vector<File> files_;
  std::vector<std::string> names_;
};

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_CIFAR_H_
