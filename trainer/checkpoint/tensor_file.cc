#include "trainer/checkpoint/tensor_file.h"

#include <cstring>
#include <optional>
#include <utility>

#include "ATen/ops/as_strided.h"
#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/dtype_names.h"
#include "trainer/checkpoint/quoted.h"
#include "trainer/plugin/with_prefix.h"

namespace slipway {
namespace {

constexpr char kTreeRecord[] = "data.pkl";

bool IsWholeStorage(const at::Tensor& tensor) {
  return tensor.storage_offset() == 0 &&
         tensor.is_non_overlapping_and_dense() &&
         tensor.storage().nbytes() == tensor.nbytes();
}

std::string_view BytesOf(const at::Tensor& storage) {
  return {static_cast<const char*>(storage.const_data_ptr()), storage.nbytes()};
}

// Before version 1.6 PyTorch wrote pickles one after the other.
absl::Status RefuseOldFormat(const ByteSource& source) {
  char start[2] = {};
  if (source.size() < sizeof(start)) return absl::OkStatus();
  absl::Status status = source.Read(0, sizeof(start), start);
  if (status.ok() && start[0] == '\x80' && start[1] <= 5) {
    status = absl::InvalidArgumentError(
        "written in PyTorch's format of before version 1.6; load it in Python "
        "and torch.save it again");
  }
  return status;
}

// The folder inside the archive, such as "archive/": that of the tree.
absl::StatusOr<std::string> FindPrefix(const ZipReader& zip) {
  std::string prefix;
  for (const auto& [name, entry] : zip.entries()) {
    if (!name.ends_with(absl::StrCat("/", kTreeRecord))) continue;
    if (!prefix.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("two records are called ", kTreeRecord));
    }
    prefix = name.substr(0, name.size() - std::strlen(kTreeRecord));
  }
  if (!prefix.empty()) return prefix;
  return absl::InvalidArgumentError(absl::StrCat(
      "not a file of torch.save (it has no record ", kTreeRecord, ")"));
}

}  // namespace

PickleValue TensorFileWriter::Add(const at::Tensor& tensor) {
  Storage storage = {.tensor = tensor.detach().cpu(),
                     .shared = tensor.is_cpu()};
  if (!IsWholeStorage(storage.tensor)) {
    storage = {.tensor = storage.tensor.clone(at::MemoryFormat::Contiguous)};
  }
  const at::Tensor stored = storage.tensor;
  // Empty tensors have no address of their own.
  const void* address = stored.numel() == 0 ? nullptr : stored.const_data_ptr();
  auto [it, is_new] = index_.try_emplace(address, storages_.size());
  if (is_new || address == nullptr) {
    it->second = storages_.size();
    storages_.push_back(std::move(storage));
  }
  return PickleValue::Tensor({
      .dtype = DtypeNameOf(stored.scalar_type()),
      .storage_key = absl::StrCat(it->second),
      .storage_elements = stored.numel(),
      .offset = 0,
      .sizes = stored.sizes().vec(),
      .strides = stored.strides().vec(),
  });
}

void TensorFileWriter::Detach(std::vector<at::Tensor>& spare) {
  std::multimap<size_t, at::Tensor> buffers;  // by size
  for (at::Tensor& buffer : spare) {
    const size_t size = buffer.nbytes();
    buffers.emplace(size, std::move(buffer));
  }
  spare.clear();
  for (Storage& storage : storages_) {
    const std::string_view bytes = BytesOf(storage.tensor);
    if (!storage.shared || bytes.empty()) continue;
    auto found = buffers.extract(bytes.size());
    at::Tensor copy = found ? std::move(found.mapped())
                            : at::empty({static_cast<int64_t>(bytes.size())},
                                        at::dtype(at::kByte));
    std::memcpy(copy.mutable_data_ptr(), bytes.data(), bytes.size());
    storage = {.tensor = std::move(copy)};
  }
  for (auto& [size, buffer] : buffers) spare.push_back(std::move(buffer));
  index_.clear();  // the addresses are no longer the caller's
}

std::vector<at::Tensor> TensorFileWriter::TakeBuffers() {
  std::vector<at::Tensor> buffers;
  for (Storage& storage : storages_) {
    buffers.push_back(std::move(storage.tensor));
  }
  storages_.clear();
  return buffers;
}

absl::Status TensorFileWriter::Write(const PickleValue& tree,
                                     const std::string& path,
                                     Replaced replaced) const {
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  if (!file.ok()) return file.status();
  ZipWriter zip(*file);
  absl::Status status =
      zip.Add(absl::StrCat("archive/", kTreeRecord), Pickle(tree));
  status.Update(zip.Add("archive/byteorder", "little"));
  for (size_t i = 0; i < storages_.size() && status.ok(); ++i) {
    status.Update(zip.Add(absl::StrCat("archive/data/", i),
                          BytesOf(storages_[i].tensor)));
  }
  status.Update(zip.Add("archive/version", "3\n"));
  if (status.ok()) status = zip.Finish();
  if (!status.ok()) return status;
  return file->Commit(replaced);
}

TensorFile::TensorFile(std::string path, std::unique_ptr<ByteSource> source,
                       ZipReader zip)
    : path_(std::move(path)),
      source_(std::move(source)),
      zip_(std::move(zip)) {}

absl::StatusOr<TensorFile> TensorFile::Open(const std::string& path) {
  absl::StatusOr<std::unique_ptr<ByteSource>> source = OpenFile(path);
  if (!source.ok()) return source.status();
  absl::Status status = RefuseOldFormat(**source);
  if (!status.ok()) return WithPrefix(path, status);
  absl::StatusOr<ZipReader> zip = ZipReader::Open(**source);
  if (!zip.ok()) return WithPrefix(path, zip.status());
  TensorFile file(path, *std::move(source), *std::move(zip));
  status = file.ReadTree();
  if (!status.ok()) return WithPrefix(path, status);
  return file;
}

absl::Status TensorFile::ReadTree() {
  absl::StatusOr<std::string> prefix = FindPrefix(zip_);
  if (!prefix.ok()) return prefix.status();
  prefix_ = *std::move(prefix);
  const absl::StatusOr<std::string> order = zip_.Read(prefix_ + "byteorder");
  if (order.ok() && *order != "little") {
    return absl::InvalidArgumentError(
        absl::StrCat("its byte order is ", Quoted(*order),
                     "; save it again on a little-endian machine"));
  }
  absl::StatusOr<std::string> pickle = zip_.Read(prefix_ + kTreeRecord);
  if (!pickle.ok()) return pickle.status();
  absl::StatusOr<PickleValue> tree = Unpickle(*pickle);
  if (!tree.ok()) return tree.status();
  tree_ = *std::move(tree);
  return absl::OkStatus();
}

absl::StatusOr<at::Tensor> TensorFile::LoadStorage(
    const PickledTensor& tensor) {
  const std::string name = absl::StrCat(prefix_, "data/", tensor.storage_key);
  const auto it = loaded_.find(name);
  if (it != loaded_.end()) return it->second;
  const std::optional<at::ScalarType> type = ScalarTypeOf(tensor.dtype);
  if (!type) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": unknown dtype \"", tensor.dtype, "\""));
  }
  absl::StatusOr<uint64_t> bytes = zip_.Size(name);
  if (!bytes.ok()) return WithPrefix(path_, bytes.status());
  const auto size = static_cast<uint64_t>(DtypeSize(tensor.dtype));
  if (*bytes > source_->size() || *bytes % size != 0 ||
      *bytes / size < static_cast<uint64_t>(tensor.storage_elements)) {
    return absl::DataLossError(absl::StrCat(
        path_, ": record \"", name, "\" has ", *bytes, " bytes, but ",
        tensor.storage_elements, " elements of ", size, " bytes are needed"));
  }
  at::Tensor storage =
      at::empty({static_cast<int64_t>(*bytes / size)}, at::dtype(*type));
  absl::Status status = zip_.ReadInto(
      name, *bytes, static_cast<char*>(storage.mutable_data_ptr()));
  if (!status.ok()) return WithPrefix(path_, status);
  loaded_[name] = storage;
  return storage;
}

absl::StatusOr<at::Tensor> TensorFile::Load(const PickledTensor& tensor) {
  absl::StatusOr<at::Tensor> storage = LoadStorage(tensor);
  if (!storage.ok()) return storage.status();
  if (DtypeNameOf(storage->scalar_type()) != tensor.dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ": storage \"", tensor.storage_key, "\" is used as two dtypes"));
  }
  return at::as_strided(*storage, tensor.sizes, tensor.strides, tensor.offset);
}

}  // namespace slipway
