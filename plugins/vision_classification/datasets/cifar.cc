#include "plugins/vision_classification/datasets/cifar.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "ATen/ops/empty.h"
#include "ATen/ops/scalar_tensor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway::vision_classification {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSide = 32;
constexpr int64_t kPixelBytes = 3 * kSide * kSide;

absl::Status FileError(const std::string& path, int error) {
  return absl::DataLossError(
      absl::StrCat("cannot read \"", path, "\": ", std::strerror(error)));
}

// Reads exactly `size` bytes, from any number of threads at once.
absl::Status ReadAt(int descriptor, const std::string& path, int64_t offset,
                    uint8_t* bytes, int64_t size) {
  while (size > 0) {
    const ssize_t count = pread(descriptor, bytes, size, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(path, errno);
    if (count == 0) {
      return absl::DataLossError(
          absl::StrCat("\"", path, "\" has become shorter"));
    }
    bytes += count;
    offset += count;
    size -= count;
  }
  return absl::OkStatus();
}

// The folder of the files: `root` itself, or the one below it that is named as
// the archive names it.
fs::path FolderOf(const Cifar::Format& format,
                  const std::vector<std::string>& files,
                  const std::string& root) {
  const fs::path below = fs::path(root) / format.folder;
  std::error_code ignored;
  const bool here = fs::exists(fs::path(root) / files.front(), ignored);
  return here ? fs::path(root) : below;
}

absl::Status Missing(const Cifar::Format& format, const std::string& root,
                     const std::vector<std::string>& files,
                     const std::vector<std::string>& missing) {
  return absl::NotFoundError(absl::StrCat(
      format.name, " is not at \"", root, "\": expected ",
      absl::StrJoin(files, ", "), " in it or in its folder ", format.folder,
      ", missing ",
      missing.size() == files.size() ? "all of them"
                                     : absl::StrJoin(missing, ", "),
      "; unpack the \"binary version\" of "
      "https://www.cs.toronto.edu/~kriz/cifar.html there"));
}

std::vector<std::string> MissingOf(const fs::path& folder,
                                   const std::vector<std::string>& files) {
  std::vector<std::string> missing;
  std::error_code ignored;
  for (const std::string& file : files) {
    if (!fs::is_regular_file(folder / file, ignored)) missing.push_back(file);
  }
  return missing;
}

}  // namespace

const Cifar::Format& Cifar::Cifar10() {
  static const Format& format = *new Format{
      .name = "CIFAR-10",
      .folder = "cifar-10-batches-bin",
      .train_files = {"data_batch_1.bin", "data_batch_2.bin",
                      "data_batch_3.bin", "data_batch_4.bin",
                      "data_batch_5.bin"},
      .test_files = {"test_batch.bin"},
      .names_file = "batches.meta.txt",
      .label_bytes = 1,
      .classes = 10,
  };
  return format;
}

const Cifar::Format& Cifar::Cifar100() {
  static const Format& format = *new Format{
      .name = "CIFAR-100",
      .folder = "cifar-100-binary",
      .train_files = {"train.bin"},
      .test_files = {"test.bin"},
      .names_file = "fine_label_names.txt",
      .label_bytes = 2,
      .classes = 100,
  };
  return format;
}

absl::StatusOr<std::unique_ptr<Cifar>> Cifar::Open(const Format& format,
                                                   const std::string& root,
                                                   bool train) {
  const auto& files = train ? format.train_files : format.test_files;
  const fs::path folder = FolderOf(format, files, root);
  const std::vector<std::string> missing = MissingOf(folder, files);
  if (!missing.empty()) return Missing(format, root, files, missing);
  std::unique_ptr<Cifar> cifar(new Cifar(format));
  for (const std::string& file : files) {
    absl::Status status = cifar->Add((folder / file).string());
    if (!status.ok()) return status;
  }
  cifar->ReadNames((folder / format.names_file).string());
  return cifar;
}

Cifar::~Cifar() {
  for (const File& file : files_) close(file.descriptor);
}

int64_t Cifar::record_bytes() const {
  return format_.label_bytes + kPixelBytes;
}

absl::Status Cifar::Add(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return FileError(path, errno);
  files_.push_back({path, descriptor, size(), 0});
  struct stat info;
  if (fstat(descriptor, &info) != 0) return FileError(path, errno);
  if (info.st_size == 0 || info.st_size % record_bytes() != 0) {
    return absl::DataLossError(absl::StrCat(
        "\"", path, "\" has ", info.st_size, " bytes, expected records of ",
        record_bytes(), "; it is cut short or no binary version of ",
        format_.name));
  }
  files_.back().records = info.st_size / record_bytes();
  return absl::OkStatus();
}

void Cifar::ReadNames(const std::string& path) {
  std::ifstream file(path);
  for (std::string name; std::getline(file, name);) {
    if (!name.empty()) names_.push_back(name);
  }
}

int64_t Cifar::size() const {
  return files_.empty() ? 0 : files_.back().first + files_.back().records;
}

absl::StatusOr<data::Sample> Cifar::Get(int64_t index) const {
  size_t f = 0;
  while (index >= files_[f].first + files_[f].records) ++f;
  const File& file = files_[f];
  const int64_t record = index - file.first;
  at::Tensor bytes = at::empty({record_bytes()}, at::TensorOptions(at::kByte));
  const uint8_t* labels = bytes.data_ptr<uint8_t>();
  absl::Status status =
      ReadAt(file.descriptor, file.path, record * record_bytes(),
             bytes.mutable_data_ptr<uint8_t>(), record_bytes());
  if (!status.ok()) return status;
  const int64_t label = labels[format_.label_bytes - 1];
  if (label >= format_.classes) {
    return absl::DataLossError(
        absl::StrCat("\"", file.path, "\": record ", record, " is of class ",
                     label, ", expected one below ", format_.classes));
  }
  data::Sample sample;
  sample.image = bytes.narrow(0, format_.label_bytes, kPixelBytes)
                     .view({3, kSide, kSide})
                     .permute({1, 2, 0});
  sample.target = Value(at::scalar_tensor(label, at::TensorOptions(at::kLong)));
  return sample;
}

}  // namespace slipway::vision_classification
