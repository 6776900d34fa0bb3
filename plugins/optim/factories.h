// The components of the plugin optim, by the names that recipes call them.
#ifndef SLIPWAY_PLUGINS_OPTIM_FACTORIES_H_
#define SLIPWAY_PLUGINS_OPTIM_FACTORIES_H_

#include "trainer/plugin/components.h"

namespace slipway::optim {

// SGD, Adam, AdamW, RMSprop, RMSpropTF, Lamb. Their parameters
// (optimizer_params) are those of the option structs, `betas` being a list of
// two; what is not set has SuperGradients' defaults.
void RegisterOptimizers(Components& components);

// CosineLRScheduler, PolyLRScheduler, ExponentialLRScheduler, StepLRScheduler
// and their short names cosine, poly, exp, step.
void RegisterSchedules(Components& components);

}  // namespace slipway::optim

#endif  // SLIPWAY_PLUGINS_OPTIM_FACTORIES_H_
