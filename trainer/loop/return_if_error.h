// Returns from the enclosing function with the error of `expression`, if it is
// one.
//
//   SLIPWAY_RETURN_IF_ERROR(hooks.Run<Hook::kStepBegin>(context));
#ifndef SLIPWAY_TRAINER_LOOP_RETURN_IF_ERROR_H_
#define SLIPWAY_TRAINER_LOOP_RETURN_IF_ERROR_H_

#include "absl/status/status.h"

#define SLIPWAY_RETURN_IF_ERROR(expression)                   \
  do {                                                        \
    if (absl::Status status_ = (expression); !status_.ok()) { \
      return status_;                                         \
    }                                                         \
  } while (false)

#endif  // SLIPWAY_TRAINER_LOOP_RETURN_IF_ERROR_H_
