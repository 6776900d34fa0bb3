// Model and loss as one function of a batch, for graphs that have both.
//
//   const Value batch = WithTarget(context.current_batch());
//   const Value output = ForwardAndLoss(context, batch);
//   context.SetForward(PredictionOf(output), LossOf(output));
#ifndef SLIPWAY_PLUGINS_COMPILE_FORWARD_AND_LOSS_H_
#define SLIPWAY_PLUGINS_COMPILE_FORWARD_AND_LOSS_H_

#include "trainer/data/dataset.h"
#include "trainer/nn/value.h"
#include "trainer/plugin/loss.h"
#include "trainer/plugin/whole_step.h"

namespace slipway::compile {

// {input, target}.
Value WithTarget(const data::Batch& batch);

// {loss, items, prediction} of such a batch, eagerly. The loss has a history,
// and nothing else does: gradients go through it alone. Throws c10::Error, also
// for what the loss refuses.
Value ForwardAndLoss(WholeStepContext& context, const Value& batch);

LossOutput LossOf(const Value& output);
Value PredictionOf(const Value& output);

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_FORWARD_AND_LOSS_H_
