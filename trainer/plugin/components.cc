#include "trainer/plugin/components.h"

#include "absl/strings/ascii.h"

namespace slipway {

std::string ComponentKey(std::string_view name) {
  std::string key;
  for (const char letter : name) {
    if (absl::ascii_isalnum(letter)) key += absl::ascii_tolower(letter);
  }
  return key;
}

}  // namespace slipway
