#include "trainer/checkpoint/tensor_file.h"

#include <optional>
#include <utility>

#include "ATen/ops/as_strided.h"
#include "ATen/ops/empty.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace slipway {
namespace {

struct DtypeEntry {
  at::ScalarType type;
  const char* name;
};

constexpr DtypeEntry kDtypes[] = {
    {at::kFloat, "float32"},
    {at::kDouble, "float64"},
    {at::kHalf, "float16"},
    {at::kBFloat16, "bfloat16"},
    {at::kLong, "int64"},
    {at::kInt, "int32"},
    {at::kShort, "int16"},
    {at::kChar, "int8"},
    {at::kByte, "uint8"},
    {at::kBool, "bool"},
    {at::kComplexFloat, "complex64"},
    {at::kComplexDouble, "complex128"},
    {at::ScalarType::UInt16, "uint16"},
    {at::ScalarType::UInt32, "uint32"},
    {at::ScalarType::UInt64, "uint64"},
    {at::ScalarType::Float8_e4m3fn, "float8_e4m3fn"},
    {at::ScalarType::Float8_e5m2, "float8_e5m2"},
    {at::ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz"},
    {at::ScalarType::Float8_e5m2fnuz, "float8_e5m2fnuz"},
};

std::string NameOf(at::ScalarType type) {
  for (const DtypeEntry& entry : kDtypes) {
    if (entry.type == type) return entry.name;
  }
  return at::toString(type);
}

std::optional<at::ScalarType> TypeOf(const std::string& name) {
  for (const DtypeEntry& entry : kDtypes) {
    if (name == entry.name) return entry.type;
  }
  return std::nullopt;
}

bool IsWholeStorage(const at::Tensor& tensor) {
  return tensor.storage_offset() == 0 &&
         tensor.is_non_overlapping_and_dense() &&
         tensor.storage().nbytes() == tensor.nbytes();
}

std::string_view BytesOf(const at::Tensor& storage) {
  return {static_cast<const char*>(storage.const_data_ptr()), storage.nbytes()};
}

absl::Status WithPath(const absl::Status& status, const std::string& path) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(path, ": ", status.message()));
}

}  // namespace

PickleValue TensorFileWriter::Add(const at::Tensor& tensor) {
  at::Tensor stored = tensor.detach().cpu();
  if (!IsWholeStorage(stored)) stored = stored.contiguous().clone();
  // Empty tensors have no address of their own.
  const void* address = stored.numel() == 0 ? nullptr : stored.const_data_ptr();
  auto [it, is_new] = index_.try_emplace(address, storages_.size());
  if (is_new || address == nullptr) {
    it->second = storages_.size();
    storages_.push_back(stored);
  }
  return PickleValue::Tensor({
      .dtype = NameOf(stored.scalar_type()),
      .storage_key = absl::StrCat(it->second),
      .storage_elements = stored.numel(),
      .offset = 0,
      .sizes = stored.sizes().vec(),
      .strides = stored.strides().vec(),
  });
}

absl::Status TensorFileWriter::Write(const PickleValue& tree,
                                     const std::string& path) const {
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  if (!file.ok()) return file.status();
  ZipWriter zip(*file);
  absl::Status status = zip.Add("archive/data.pkl", Pickle(tree));
  status.Update(zip.Add("archive/byteorder", "little"));
  for (size_t i = 0; i < storages_.size() && status.ok(); ++i) {
    status.Update(
        zip.Add(absl::StrCat("archive/data/", i), BytesOf(storages_[i])));
  }
  status.Update(zip.Add("archive/version", "3\n"));
  if (status.ok()) status = zip.Finish();
  if (!status.ok()) return status;
  return file->Commit();
}

TensorFile::TensorFile(std::string path, std::unique_ptr<ByteSource> source,
                       ZipReader zip)
    : path_(std::move(path)),
      source_(std::move(source)),
      zip_(std::move(zip)) {}

absl::StatusOr<TensorFile> TensorFile::Open(const std::string& path) {
  absl::StatusOr<std::unique_ptr<ByteSource>> source = OpenFile(path);
  if (!source.ok()) return source.status();
  absl::StatusOr<ZipReader> zip = ZipReader::Open(**source);
  if (!zip.ok()) return WithPath(zip.status(), path);
  TensorFile file(path, *std::move(source), *std::move(zip));
  for (const auto& [name, entry] : file.zip_.entries()) {
    if (absl::EndsWith(name, "/data.pkl")) {
      file.prefix_ = name.substr(0, name.size() - 8);
    }
  }
  if (file.prefix_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": not a file of torch.save (it has no record data.pkl)"));
  }
  absl::StatusOr<std::string> pickle =
      file.zip_.Read(file.prefix_ + "data.pkl");
  if (!pickle.ok()) return WithPath(pickle.status(), path);
  absl::StatusOr<PickleValue> tree = Unpickle(*pickle);
  if (!tree.ok()) return WithPath(tree.status(), path);
  file.tree_ = *std::move(tree);
  return file;
}

absl::StatusOr<at::Tensor> TensorFile::LoadStorage(
    const PickledTensor& tensor) {
  const std::string name = absl::StrCat(prefix_, "data/", tensor.storage_key);
  const auto it = loaded_.find(name);
  if (it != loaded_.end()) return it->second;
  const std::optional<at::ScalarType> type = TypeOf(tensor.dtype);
  if (!type) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": unknown dtype \"", tensor.dtype, "\""));
  }
  absl::StatusOr<uint64_t> bytes = zip_.Size(name);
  if (!bytes.ok()) return WithPath(bytes.status(), path_);
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
  if (!status.ok()) return WithPath(status, path_);
  loaded_[name] = storage;
  return storage;
}

absl::StatusOr<at::Tensor> TensorFile::Load(const PickledTensor& tensor) {
  absl::StatusOr<at::Tensor> storage = LoadStorage(tensor);
  if (!storage.ok()) return storage.status();
  if (NameOf(storage->scalar_type()) != tensor.dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ": storage \"", tensor.storage_key, "\" is used as two dtypes"));
  }
  return at::as_strided(*storage, tensor.sizes, tensor.strides, tensor.offset);
}

}  // namespace slipway
