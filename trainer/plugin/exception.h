// The exception wall: exceptions become errors where they arise.
//
//   try {
//     status = plugin->FitBegin(context);
//   } catch (...) {
//     status = CurrentExceptionStatus();
//   }
#ifndef SLIPWAY_TRAINER_PLUGIN_EXCEPTION_H_
#define SLIPWAY_TRAINER_PLUGIN_EXCEPTION_H_

#include "absl/status/status.h"

namespace slipway {

// The exception that is being handled, as an error: its message (c10::Error
// without the stack), or its type if it has none. RESOURCE_EXHAUSTED for
// std::bad_alloc and LibTorch's out of memory, INTERNAL for all others. Inside
// a catch block only. Throws nothing.
absl::Status CurrentExceptionStatus() noexcept;

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_EXCEPTION_H_
