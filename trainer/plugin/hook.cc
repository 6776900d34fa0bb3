#include "trainer/plugin/hook.h"

#include <string>
#include <vector>

#include "trainer/plan/manifest.h"

namespace slipway {

// Manifests know the hooks by name, in the order of the enumeration.
std::string_view ToString(Hook hook) {
  return plan::HookNames()[static_cast<size_t>(hook)];
}

std::optional<Hook> FindHook(std::string_view name) {
  const std::vector<std::string>& names = plan::HookNames();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Hook>(i);
  }
  return std::nullopt;
}

}  // namespace slipway
