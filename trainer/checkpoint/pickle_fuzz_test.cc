// Any bytes are a pickle of the closed set or are refused; a value that is read
// comes back when it is written (bytes, which are never written, excepted).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "trainer/checkpoint/pickle.h"

namespace slipway {
namespace {

bool CanBeWritten(const PickleValue& value) {
  return value.kind() != PickleValue::Kind::kBytes &&
         std::ranges::all_of(value.items(), CanBeWritten) &&
         std::ranges::all_of(value.entries(), [](const auto& entry) {
           return CanBeWritten(entry.first) && CanBeWritten(entry.second);
         });
}

}  // namespace
}  // namespace slipway

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace slipway;  // NOLINT: a C function has no namespace of its own.
  const absl::StatusOr<PickleValue> value =
      Unpickle({reinterpret_cast<const char*>(data), size});
  if (!value.ok() || !CanBeWritten(*value)) return 0;
  const std::string written = Pickle(*value);
  const absl::StatusOr<PickleValue> again = Unpickle(written);
  // Sharing may have made it larger than a reader takes.
  if (!again.ok() && written.size() <= 64 * size + 1024) std::abort();
  if (again.ok() && Pickle(*again) != written) std::abort();
  return 0;
}
