#include "trainer/checkpoint/utf8.h"

#include <bit>
#include <cstdint>

namespace slipway {
namespace {

// Takes the first letter of `text`, which is not empty; nullopt if it is none.
std::optional<uint32_t> TakeLetter(std::string_view& text) {
  // The smallest code that needs one, two, ... bytes.
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto lead = static_cast<unsigned char>(text[0]);
  const auto ones = static_cast<size_t>(std::countl_one(lead));
  const size_t length = ones == 0 ? 1 : ones;
  if (ones == 1 || ones > 4 || length > text.size()) return std::nullopt;
  uint32_t code = ones == 0 ? lead : lead & (0x7f >> ones);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return std::nullopt;
    code = code << 6 | (next & 0x3f);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kSmallest[length] || code > 0x10ffff || surrogate) {
    return std::nullopt;
  }
  text.remove_prefix(length);
  return code;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    if (!TakeLetter(text)) return false;
  }
  return true;
}

std::optional<std::string> Latin1FromUtf8(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const std::optional<uint32_t> letter = TakeLetter(text);
    if (!letter || *letter > 0xff) return std::nullopt;
    bytes += static_cast<char>(*letter);
  }
  return bytes;
}

}  // namespace slipway
