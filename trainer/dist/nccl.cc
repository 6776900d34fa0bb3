#include "trainer/dist/backends.h"

#ifdef SLIPWAY_CUDA
#define USE_C10D_NCCL 1
#include "c10/cuda/CUDAFunctions.h"
#include "torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp"
#else
#include "c10/util/Exception.h"
#include "torch/csrc/distributed/c10d/Backend.hpp"
#endif

namespace slipway::dist {

#ifdef SLIPWAY_CUDA

c10::intrusive_ptr<c10d::Backend> MakeNccl(
    const c10::intrusive_ptr<c10d::Store>& store,
    const Environment& environment) {
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(environment.local_rank));
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = environment.peer_timeout;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(
      store, environment.rank, environment.world_size, options);
}

#else

c10::intrusive_ptr<c10d::Backend> MakeNccl(
    const c10::intrusive_ptr<c10d::Store>& store,
    const Environment& environment) {
  TORCH_CHECK(false,
              "several ranks on GPUs need a build with --config=cuda, which "
              "has NCCL");
}

#endif

}  // namespace slipway::dist
