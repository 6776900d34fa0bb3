// Any bytes are a safetensors file or are refused; a header that is read names
// every byte of the data once, and comes back equal when it is written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "trainer/checkpoint/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway;  // NOLINT: a C function has no namespace of its own.
  const std::unique_ptr<ByteSource> source =
      MemorySource({reinterpret_cast<const char*>(data), size});
  absl::StatusOr<SafetensorsHeader> header = ReadSafetensorsHeader(*source);
  if (!header.ok()) return 0;
  uint64_t end = 0;
  for (const SafetensorsEntry& entry : header->entries) {
    if (entry.begin != end || entry.end < entry.begin) std::abort();
    end = entry.end;
  }
  if (header->data + end != size) std::abort();
  if (!LayOutSafetensors(header->entries).ok()) std::abort();
  std::string written = SafetensorsHeaderBytes(*header);
  written.append(end, '\0');
  const auto again = ReadSafetensorsHeader(*MemorySource(written));
  if (!again.ok() || again->entries.size() != header->entries.size()) {
    std::abort();
  }
  return 0;
}
