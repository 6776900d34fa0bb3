// The backends that move tensors between ranks, each behind a function of its
// own: their headers, and what those need, stay in one source each. Internal to
// this folder.
#ifndef SLIPWAY_TRAINER_DIST_BACKENDS_H_
#define SLIPWAY_TRAINER_DIST_BACKENDS_H_

#include "c10/util/intrusive_ptr.h"
#include "trainer/dist/environment.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace slipway::dist {

// Gloo, for CPU tensors: connects all ranks by way of `store`. It uses the
// interfaces that the environment names; else the loopback interface if all
// ranks are on this machine; else that of this machine's name. Throws if they
// do not connect.
c10::intrusive_ptr<c10d::Backend> MakeGloo(
    const c10::intrusive_ptr<c10d::Store>& store,
    const Environment& environment);

// NCCL, for CUDA tensors; ranks connect at their first operation. Throws
// c10::Error in a build without --config=cuda, and without a GPU.
c10::intrusive_ptr<c10d::Backend> MakeNccl(
    const c10::intrusive_ptr<c10d::Store>& store,
    const Environment& environment);

}  // namespace slipway::dist

#endif  // SLIPWAY_TRAINER_DIST_BACKENDS_H_
