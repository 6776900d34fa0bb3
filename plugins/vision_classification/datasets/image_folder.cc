#include "plugins/vision_classification/datasets/image_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ATen/ops/scalar_tensor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "plugins/vision_classification/datasets/file_bytes.h"
#include "plugins/vision_classification/images/decode.h"
#include "plugins/vision_classification/images/pixels.h"
#include "trainer/plugin/with_prefix.h"

namespace slipway::vision_classification {
namespace {

namespace fs = std::filesystem;

// torchvision's list, so that samples have the same numbers.
constexpr std::array<const char*, 9> kEndings = {
    ".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"};

// Links may lead in circles.
constexpr int kDeepest = 32;

bool IsImageName(const std::string& name) {
  const std::string lower = absl::AsciiStrToLower(name);
  return std::any_of(kEndings.begin(), kEndings.end(), [&](const char* ending) {
    return absl::EndsWith(lower, ending);
  });
}

absl::Status CannotList(const fs::path& folder, const std::error_code& error) {
  return absl::ErrnoToStatus(
      error.value(), absl::StrCat("cannot list ", Quoted(folder.native())));
}

// The names in `folder`, those of folders and those of other files, sorted.
struct Names {
  std::vector<std::string> folders;
  std::vector<std::string> files;
};

absl::StatusOr<Names> List(const fs::path& folder) {
  Names names;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    // A link that leads nowhere is no folder; its sample says so.
    std::error_code ignored;
    const bool is_folder = entries->is_directory(ignored);
    auto& kind = is_folder ? names.folders : names.files;
    kind.push_back(entries->path().filename().native());
  }
  if (error) return CannotList(folder, error);
  std::sort(names.folders.begin(), names.folders.end());
  std::sort(names.files.begin(), names.files.end());
  return names;
}

// Appends the images in `below` and its folders to `images`, as torchvision
// meets them: folders in the order of their whole paths.
absl::Status Walk(const fs::path& root, const std::string& below, int depth,
                  std::vector<std::pair<std::string, std::string>>& images) {
  const absl::StatusOr<Names> names = List(root / below);
  if (!names.ok()) return names.status();
  for (const std::string& file : names->files) {
    if (IsImageName(file)) images.emplace_back(below, file);
  }
  if (depth == kDeepest) return absl::OkStatus();
  for (const std::string& folder : names->folders) {
    absl::Status status =
        Walk(root, absl::StrCat(below, "/", folder), depth + 1, images);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status WithoutImages(const std::string& root,
                           std::vector<std::string> classes) {
  constexpr size_t kShown = 5;
  const size_t count = classes.size();
  classes.resize(std::min(count, kShown));
  return absl::NotFoundError(
      absl::StrCat(count, " folders in ", Quoted(root), " have no image: ",
                   absl::StrJoin(classes, ", ",
                                 [](std::string* out, const std::string& name) {
                                   out->append(Quoted(name));
                                 }),
                   count > kShown ? ", ..." : "",
                   "; each folder is a class, expected files ",
                   absl::StrJoin(kEndings, " ")));
}

}  // namespace

ImageFolder::ImageFolder(std::string root, Decode decode)
    : root_(std::move(root)), decode_(decode) {}

absl::StatusOr<std::unique_ptr<ImageFolder>> ImageFolder::Open(std::string root,
                                                               Decode decode) {
  std::error_code ignored;
  if (!fs::is_directory(root, ignored)) {
    return absl::NotFoundError(
        absl::StrCat("there is no folder ", Quoted(root)));
  }
  absl::StatusOr<Names> names = List(root);
  if (!names.ok()) return names.status();
  if (names->folders.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no folder in ",
                                            Quoted(root),
                                            ", expected one for each class"));
  }
  std::unique_ptr<ImageFolder> images(new ImageFolder(std::move(root), decode));
  std::vector<std::string> empty;
  for (const std::string& name : names->folders) {
    const int64_t before = images->size();
    absl::Status status = images->AddClass(name);
    if (!status.ok()) return status;
    if (images->size() == before) empty.push_back(name);
  }
  if (!empty.empty()) return WithoutImages(images->root_, std::move(empty));
  return images;
}

absl::Status ImageFolder::AddClass(const std::string& name) {
  std::vector<std::pair<std::string, std::string>> images;
  absl::Status status = Walk(root_, name, 0, images);
  if (!status.ok()) return status;
  std::sort(images.begin(), images.end());
  classes_.push_back(name);
  firsts_.push_back(size());
  for (const auto& [folder, file] : images) {
    absl::StrAppend(&paths_, folder, "/", file);
    ends_.push_back(paths_.size());
  }
  return absl::OkStatus();
}

int64_t ImageFolder::ClassOf(int64_t index) const {
  return std::upper_bound(firsts_.begin(), firsts_.end(), index) -
         firsts_.begin() - 1;
}

std::string ImageFolder::Path(int64_t index) const {
  const uint64_t begin = index == 0 ? 0 : ends_[index - 1];
  return absl::StrCat(root_, "/", paths_.substr(begin, ends_[index] - begin));
}

absl::StatusOr<data::Sample> ImageFolder::Get(int64_t index) const {
  const std::string path = Path(index);
  absl::StatusOr<std::string> bytes = ReadFileBytes(path);
  if (!bytes.ok()) return WithPrefix(Quoted(path), bytes.status());
  data::Sample sample;
  if (decode_ == Decode::kFast) {
    // What is no image says so here, where its path is known.
    const absl::StatusOr<Extent> extent = ImageExtent(*bytes);
    if (!extent.ok()) return WithPrefix(Quoted(path), extent.status());
    sample.image = EncodedTensor(*std::move(bytes), Quoted(path));
  } else {
    absl::StatusOr<Raster> raster = DecodeImage(*bytes);
    if (!raster.ok()) return WithPrefix(Quoted(path), raster.status());
    sample.image = TensorOf(*std::move(raster));
  }
  sample.target =
      Value(at::scalar_tensor(ClassOf(index), at::TensorOptions(at::kLong)));
  return sample;
}

}  // namespace slipway::vision_classification
