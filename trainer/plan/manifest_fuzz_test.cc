// Any text is a manifest or has problems, never both, and a manifest's own
// fields are ones that a plan can be made of.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "trainer/plan/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway;  // NOLINT: a C function has no namespace of its own.
  Problems problems;
  const std::optional<plan::Manifest> manifest = plan::ParseManifest(
      {reinterpret_cast<const char*>(data), size}, "plugin.yaml", problems);
  if (manifest.has_value() == HasErrors(problems)) std::abort();
  if (!manifest) return 0;
  if (manifest->id.empty() || manifest->api.any()) std::abort();
  manifest->KnownRecipeKeys();
  FormatProblems(problems);
  return 0;
}
