// Autocast as a scope, behind a header that costs nothing.
//
//   {
//     std::unique_ptr<Scope> scope = Autocast(at::kCPU, at::kBFloat16);
//     loss = Loss(model.Run(images));   // matrix products in bf16
//   }
//   loss.backward();                    // in the types that forward used
#ifndef SLIPWAY_PLUGINS_AMP_AUTOCAST_H_
#define SLIPWAY_PLUGINS_AMP_AUTOCAST_H_

#include <memory>

#include "c10/core/DeviceType.h"
#include "c10/core/ScalarType.h"
#include "trainer/plugin/control.h"

namespace slipway::amp {

// Switches autocast to `dtype` on for operations on `device`, in this thread;
// what was set before comes back when the scope ends. Scopes may nest; casts of
// weights are cached until the outermost ends. Ends where it began: on the same
// thread, last-in-first-out.
std::unique_ptr<Scope> Autocast(at::DeviceType device, at::ScalarType dtype);

}  // namespace slipway::amp

#endif  // SLIPWAY_PLUGINS_AMP_AUTOCAST_H_
