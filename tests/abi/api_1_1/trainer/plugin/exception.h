// The exception wall: exceptions become errors where they arise.
//
//   absl::Status status = Guarded([&] { return plugin->FitBegin(context); });
//
#ifndef SLIPWAY_TRAINER_PLUGIN_EXCEPTION_H_
#define SLIPWAY_TRAINER_PLUGIN_EXCEPTION_H_

#include <type_traits>

#include "absl/status/status.h"

namespace slipway {

// The exception that is being handled, as an error: its message (c10::Error
// without the stack), or its type if it has none. RESOURCE_EXHAUSTED for
// std::bad_alloc and LibTorch's out of memory, INTERNAL for all others. Inside
// a catch block only. Throws nothing.
absl::Status CurrentExceptionStatus() noexcept;

// Whether an exception said that memory ran out, on whichever device. A full
// disk is RESOURCE_EXHAUSTED too, and is something else.
bool IsOutOfMemory(const absl::Status& status);

// Calls `function`, which returns a Status, a StatusOr or nothing (then the
// result is a Status). What it throws is the result's error.
template <typename Function>
auto Guarded(const Function& function) {
  using Returned = std::invoke_result_t<const Function&>;
  using Result =
      std::conditional_t<std::is_void_v<Returned>, absl::Status, Returned>;
  try {
    if constexpr (std::is_void_v<Returned>) {
      function();
      return Result();
    } else {
      return Result(function());
    }
  } catch (...) {
    return Result(CurrentExceptionStatus());
  }
}

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_EXCEPTION_H_
