// CRC-32C, the checksum of TensorBoard's records.
//
//   Crc32c("123456789")  // 0xe3069283
//
// The Castagnoli polynomial of RFC 3720 (section 12.1, test vectors in appendix
// B.4). A pure function, safe from any thread.
#ifndef SLIPWAY_TRAINER_REPORT_CRC32C_H_
#define SLIPWAY_TRAINER_REPORT_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace slipway {

uint32_t Crc32c(std::string_view bytes);

// Rotated and offset, as TFRecord stores it, so that the checksum of bytes that
// hold checksums stays a good one (tensorflow/core/lib/hash/crc32c.h).
uint32_t MaskedCrc32c(std::string_view bytes);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_REPORT_CRC32C_H_
