// What zip.cc and zip_reader.cc share: the format's constants and numbers.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_ZIP_FORMAT_H_
#define SLIPWAY_TRAINER_CHECKPOINT_ZIP_FORMAT_H_

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace slipway::zip {

inline constexpr uint32_t kLocalSignature = 0x04034b50;
inline constexpr uint32_t kCentralSignature = 0x02014b50;
inline constexpr uint32_t kEndSignature = 0x06054b50;
inline constexpr uint32_t kEnd64Signature = 0x06064b50;
inline constexpr uint32_t kLocator64Signature = 0x07064b50;
inline constexpr uint32_t kDescriptorSignature = 0x08074b50;
inline constexpr uint64_t kLocalSize = 30;
inline constexpr uint64_t kCentralSize = 46;
inline constexpr uint64_t kEndSize = 22;
inline constexpr uint64_t kEnd64Size = 56;
inline constexpr uint64_t kLocator64Size = 20;
inline constexpr uint64_t kAlignment = 64;
inline constexpr uint32_t kMax32 = std::numeric_limits<uint32_t>::max();
inline constexpr uint16_t kMax16 = std::numeric_limits<uint16_t>::max();
inline constexpr uint16_t kEncrypted = 1;
inline constexpr uint16_t kSizesFollow = 8;
inline constexpr uint16_t kZip64Tag = 1;
// The tag under which PyTorch pads; any unknown tag would do.
inline constexpr uint16_t kPaddingTag = 0x4246;

// The checksum of `data`, which follows on what `crc` is the checksum of.
inline uint32_t Crc(std::string_view data, uint32_t crc = 0) {
  return static_cast<uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

// Little-endian numbers, whatever the machine.
template <typename T>
void Put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<char>(value >> (8 * i)));
  }
}

template <typename T>
T Get(std::string_view bytes, size_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[offset + i]);
    value = static_cast<T>(value | (static_cast<T>(byte) << (8 * i)));
  }
  return value;
}

}  // namespace slipway::zip

#endif  // SLIPWAY_TRAINER_CHECKPOINT_ZIP_FORMAT_H_
