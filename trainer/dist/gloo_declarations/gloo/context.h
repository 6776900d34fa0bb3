// What LibTorch's ProcessGroupGloo.hpp needs of Gloo to compile.
//
// LibTorch's packages have Gloo's code inside libtorch_cpu.so and the header of
// its process group, but none of Gloo's own headers. These declare the few
// names that the header mentions. No object of these types is made, copied or
// looked into here: only pointers pass through, so that their layout does not
// matter.
#ifndef SLIPWAY_TRAINER_DIST_GLOO_DECLARATIONS_GLOO_CONTEXT_H_
#define SLIPWAY_TRAINER_DIST_GLOO_DECLARATIONS_GLOO_CONTEXT_H_

#include <chrono>

namespace gloo {

// The connections between all ranks.
class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo

#endif  // SLIPWAY_TRAINER_DIST_GLOO_DECLARATIONS_GLOO_CONTEXT_H_
