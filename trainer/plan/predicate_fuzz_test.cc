// Any text is a condition or has a mistake; a condition always has an answer,
// and its text means the same when it is read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "absl/status/statusor.h"
#include "trainer/plan/predicate.h"
#include "trainer/recipe/node.h"

namespace {

using slipway::plan::Predicate;
using slipway::recipe::Node;

// Names of every kind of value, by their length.
Node ValueOf(std::string_view name) {
  switch (name.size() % 6) {
    case 0:
      return Node::Bool(true);
    case 1:
      return Node::Int(2);
    case 2:
      return Node::Float(0.5);
    case 3:
      return Node::String("2.15.0");
    case 4:
      return Node::List();
    default:
      return Node();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::StatusOr<Predicate> predicate =
      Predicate::Parse({reinterpret_cast<const char*>(data), size});
  if (!predicate.ok()) return 0;
  const absl::StatusOr<Predicate> again = Predicate::Parse(predicate->text());
  if (!again.ok() || again->Names() != predicate->Names()) std::abort();
  if (again->Holds(ValueOf) != predicate->Holds(ValueOf)) std::abort();
  return 0;
}
