#include "trainer/checkpoint/safetensors.h"

#include <memory>

#include "ATen/ops/empty.h"
#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/atomic_file.h"
#include "trainer/checkpoint/byte_source.h"
#include "trainer/checkpoint/dtype_names.h"
#include "trainer/checkpoint/safetensors_header.h"
#include "trainer/plugin/with_prefix.h"

namespace slipway {
namespace {

absl::StatusOr<at::Tensor> Load(const ByteSource& source, uint64_t data,
                                const SafetensorsEntry& entry) {
  // Both know the same dtypes, less one.
  const at::ScalarType type = ScalarTypeOf(entry.dtype).value();
  at::Tensor tensor = at::empty(entry.shape, at::dtype(type));
  absl::Status status =
      source.Read(data + entry.begin, entry.size(),
                  static_cast<char*>(tensor.mutable_data_ptr()));
  if (!status.ok()) return status;
  return tensor;
}

absl::Status Append(AtomicFile& file, const at::Tensor& tensor) {
  // One at a time, so that no more than one copy exists.
  const at::Tensor stored = tensor.detach().cpu().contiguous();
  return file.Append(
      {static_cast<const char*>(stored.const_data_ptr()), stored.nbytes()});
}

}  // namespace

absl::Status WriteSafetensors(
    const std::vector<std::pair<std::string, at::Tensor>>& tensors,
    const std::map<std::string, std::string>& metadata,
    const std::string& path) {
  SafetensorsHeader header;
  header.metadata = metadata;
  std::map<std::string, at::Tensor> by_name;
  for (const auto& [name, tensor] : tensors) {
    header.entries.push_back({.name = name,
                              .dtype = DtypeNameOf(tensor.scalar_type()),
                              .shape = tensor.sizes().vec()});
    by_name.emplace(name, tensor);
  }
  absl::Status status = LayOutSafetensors(header.entries);
  if (!status.ok()) return WithPrefix(path, status);
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  if (!file.ok()) return file.status();
  status = file->Append(SafetensorsHeaderBytes(header));
  for (const SafetensorsEntry& entry : header.entries) {
    if (!status.ok()) return status;
    status = Append(*file, by_name.at(entry.name));
  }
  return status.ok() ? file->Commit() : status;
}

absl::StatusOr<Safetensors> ReadSafetensors(const std::string& path) {
  absl::StatusOr<std::unique_ptr<ByteSource>> source = OpenFile(path);
  if (!source.ok()) return source.status();
  absl::StatusOr<SafetensorsHeader> header = ReadSafetensorsHeader(**source);
  if (!header.ok()) return WithPrefix(path, header.status());
  Safetensors file;
  file.metadata = std::move(header->metadata);
  for (const SafetensorsEntry& entry : header->entries) {
    absl::StatusOr<at::Tensor> tensor = Load(**source, header->data, entry);
    if (!tensor.ok()) return WithPrefix(path, tensor.status());
    file.tensors.emplace_back(entry.name, *std::move(tensor));
  }
  return file;
}

}  // namespace slipway
