#include "trainer/plan/names.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

std::string ComponentKey(std::string_view name) {
  std::string key;
  for (const unsigned char c : name) {
    if (std::isalnum(c) || c >= 0x80) key += std::tolower(c);
  }
  return key;
}

std::optional<size_t> MatchName(std::string_view name,
                                const std::vector<std::string>& known) {
  const auto exact = std::find(known.begin(), known.end(), name);
  if (exact != known.end()) return exact - known.begin();
  const std::string key = ComponentKey(name);
  for (size_t i = 0; i < known.size(); ++i) {
    if (ComponentKey(known[i]) == key) return i;
  }
  return std::nullopt;
}

}  // namespace slipway
