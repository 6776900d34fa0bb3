// Any bytes are an archive or are refused, and its records together are no
// larger than the archive.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "trainer/checkpoint/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway;  // NOLINT: a C function has no namespace of its own.
  const std::unique_ptr<ByteSource> source =
      MemorySource({reinterpret_cast<const char*>(data), size});
  const absl::StatusOr<ZipReader> zip = ZipReader::Open(*source);
  if (!zip.ok()) return 0;
  uint64_t total = 0;
  for (const auto& [name, entry] : zip->entries()) {
    const absl::StatusOr<std::string> record = zip->Read(name);
    if (record.ok() && record->size() != entry.size) std::abort();
    total += entry.size;
  }
  if (total > size) std::abort();
  return 0;
}
