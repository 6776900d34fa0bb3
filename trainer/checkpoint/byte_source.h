// Bytes at offsets: a file or a piece of memory.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_BYTE_SOURCE_H_
#define SLIPWAY_TRAINER_CHECKPOINT_BYTE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace slipway {

// Safe for concurrent reads.
class ByteSource {
 public:
  virtual ~ByteSource();
  virtual uint64_t size() const = 0;
  // Fills out[0, length) from `offset` on. DATA_LOSS if that reaches past the
  // end (also when a file has shrunk since it was opened).
  virtual absl::Status Read(uint64_t offset, uint64_t length,
                            char* out) const = 0;

  // The bytes as a string; checks the bounds before it allocates.
  absl::StatusOr<std::string> Read(uint64_t offset, uint64_t length) const;
};

// Errors name the path and the system's reason.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenFile(const std::string& path);

// `bytes` must outlive the source.
std::unique_ptr<ByteSource> MemorySource(std::string_view bytes);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_BYTE_SOURCE_H_
