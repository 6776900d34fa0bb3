// LibTorch's ProcessGroupGloo.hpp includes this header of Gloo, and uses
// nothing of it. See gloo/context.h.
#ifndef SLIPWAY_TRAINER_DIST_GLOO_DECLARATIONS_GLOO_COMMON_ERROR_H_
#define SLIPWAY_TRAINER_DIST_GLOO_DECLARATIONS_GLOO_COMMON_ERROR_H_

#endif  // SLIPWAY_TRAINER_DIST_GLOO_DECLARATIONS_GLOO_COMMON_ERROR_H_
