#include "trainer/checkpoint/pickle_numpy.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace slipway::pickle {
namespace {

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

// IEEE 754's binary16.
double Half(uint64_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 0x1f);
  const auto fraction = static_cast<double>(bits & 0x3ff);
  if (exponent == 0x1f) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double Floating(uint64_t bits, size_t size) {
  if (size == 8) return std::bit_cast<double>(bits);
  if (size == 4) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return Half(bits);
}

PickleValue Signed(uint64_t bits, size_t size) {
  const int unused = static_cast<int>(64 - 8 * size);
  return PickleValue::Int(static_cast<int64_t>(bits << unused) >> unused);
}

PickleValue Unsigned(uint64_t bits) {
  const auto value = static_cast<int64_t>(bits);
  return value >= 0 ? PickleValue::Int(value)
                    : PickleValue::Float(static_cast<double>(bits));
}

}  // namespace

std::optional<PickleValue> NumpyNumber(std::string_view code,
                                       std::string_view bytes) {
  if (code.size() != 2) return std::nullopt;
  const size_t size = static_cast<size_t>(code[1] - '0');
  if (size != 1 && size != 2 && size != 4 && size != 8) return std::nullopt;
  if (bytes.size() != size) return std::nullopt;
  const uint64_t bits = LittleEndian(bytes);
  switch (code[0]) {
    case 'f':
      if (size == 1) return std::nullopt;
      return PickleValue::Float(Floating(bits, size));
    case 'i':
      return Signed(bits, size);
    case 'u':
      return Unsigned(bits);
    case 'b':
      if (size != 1) return std::nullopt;
      return PickleValue::Bool(bits != 0);
    default:
      return std::nullopt;
  }
}

}  // namespace slipway::pickle
