// The optimizers' formulas on plain numbers in double precision, one element
// after another: what their kernels are compared with.
#ifndef SLIPWAY_PLUGINS_OPTIM_REFERENCE_STEPS_H_
#define SLIPWAY_PLUGINS_OPTIM_REFERENCE_STEPS_H_

#include <functional>
#include <vector>

#include "plugins/optim/adam.h"
#include "plugins/optim/lamb.h"
#include "plugins/optim/rmsprop.h"
#include "plugins/optim/sgd.h"

namespace slipway::optim {

// The values of several parameters, or of their gradients, in logical order.
using Numbers = std::vector<std::vector<double>>;

// Takes one step; keeps the optimizer's state between calls.
using ReferenceStep = std::function<void(
    Numbers& parameters, const Numbers& gradients, double learning_rate)>;

ReferenceStep ReferenceSgd(const SgdOptions& options);
ReferenceStep ReferenceAdam(const AdamOptions& options);
ReferenceStep ReferenceRmsprop(const RmspropOptions& options);
ReferenceStep ReferenceLamb(const LambOptions& options);

}  // namespace slipway::optim

#endif  // SLIPWAY_PLUGINS_OPTIM_REFERENCE_STEPS_H_
