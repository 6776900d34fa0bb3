// Whatever the bytes, the YAML reader says what is wrong with them or gives a
// value, and that value is read back equal from what it writes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"
#include "trainer/recipe/yaml.h"

namespace slipway::recipe {
namespace {

void Check(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << what << "\n";
  std::abort();
}

void TryText(const std::string& text) {
  Problems problems;
  const std::optional<Node> node = ParseYaml(text, "fuzz.yaml", problems);
  Check(node.has_value() == problems.empty(), "a value and problems");
  FormatProblems(problems);
  if (!node) return;
  node->ToDisplay();
  const std::string yaml = node->ToYaml();
  const std::optional<Node> again = ParseYaml(yaml, "again.yaml", problems);
  Check(again && *again == *node,
        "not read back equal:\n" + yaml + FormatProblems(problems));
}

}  // namespace
}  // namespace slipway::recipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  slipway::recipe::TryText(
      std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
