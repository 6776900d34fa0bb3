// The header of a safetensors file: which tensors it has, and where.
//
//   absl::StatusOr<SafetensorsHeader> header = ReadSafetensorsHeader(*source);
//   for (const SafetensorsEntry& entry : header->entries) {
//     source->Read(header->data + entry.begin, entry.size(), out);
//   }
//
// A file is eight bytes (the header's length, little-endian), the header (a
// JSON object, padded with spaces), and the tensors' bytes. Format:
// https://huggingface.co/docs/safetensors, whose own reader is followed where
// that page is silent. Dtypes have PyTorch's names here ("float32"). No
// LibTorch.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_SAFETENSORS_HEADER_H_
#define SLIPWAY_TRAINER_CHECKPOINT_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/checkpoint/byte_source.h"

namespace slipway {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // "float32"
  std::vector<int64_t> shape;
  // Bytes within the data, which follows the header.
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;        // by offset
  std::map<std::string, std::string> metadata;  // "__metadata__"
  // Where the data begins in the file.
  uint64_t data = 0;
};

// DATA_LOSS for a file that is cut short or whose tensors overlap, leave holes
// or reach beyond its end; INVALID_ARGUMENT for other dtypes, duplicate names,
// and what else the format does not allow. Headers above 100 MB are refused, as
// by safetensors itself, and nothing larger than the file is allocated.
absl::StatusOr<SafetensorsHeader> ReadSafetensorsHeader(
    const ByteSource& source);

// Sorts `entries` as safetensors does (wide dtypes first, so that all are
// aligned; then by name) and sets their offsets. INVALID_ARGUMENT names a
// tensor whose dtype the format lacks, and a name that occurs twice or is no
// UTF-8.
absl::Status LayOutSafetensors(std::vector<SafetensorsEntry>& entries);

// The file's beginning for `header`, up to the data. `entries` are laid out.
std::string SafetensorsHeaderBytes(const SafetensorsHeader& header);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_SAFETENSORS_HEADER_H_
