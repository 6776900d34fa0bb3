// Named points at which a test may end the process, as a power cut would.
//
//   SLIPWAY_FAULT=rename_before:2   ends the process the second time that
//                                   FaultPoint("rename_before") is reached.
//   SLIPWAY_FAULT=step:9:SIGTERM    asks it to end there instead.
//
// Without that variable a fault point costs one look at a constant.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_FAULT_POINT_H_
#define SLIPWAY_TRAINER_CHECKPOINT_FAULT_POINT_H_

#include <string_view>

namespace slipway {

// Ends the process with SIGKILL, or raises SIGTERM if that is asked for, if
// $SLIPWAY_FAULT names this point and its turn has come. Thread-safe.
void FaultPoint(std::string_view name);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_FAULT_POINT_H_
