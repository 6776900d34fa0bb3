// The whole optimizer step, compiled where that is right and faster: forward,
// loss, backward, the optimizer's update, averages of weights.
//
//   CompiledStep step(setup);
//   status = step.Run(context);      // in each step
//   for (const Outcome& outcome : step.TakeOutcomes()) Log(outcome);
//
// The first step of a training is eager: it makes the optimizer's state, which
// the graph updates in place. Before code is used it takes a step from a copy
// beside eager, at the groups' initial learning rates (a warm-up may begin at
// zero, where no update can be wrong). Belongs to the training thread.
#ifndef SLIPWAY_PLUGINS_COMPILE_COMPILED_STEP_H_
#define SLIPWAY_PLUGINS_COMPILE_COMPILED_STEP_H_

#include <memory>
#include <optional>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plugins/compile/capture.h"
#include "plugins/compile/compiled_graph.h"
#include "plugins/compile/graphs_by_shape.h"
#include "plugins/compile/inputs.h"
#include "plugins/compile/outcome.h"
#include "trainer/nn/module.h"
#include "trainer/nn/value.h"
#include "trainer/plugin/whole_step.h"

namespace slipway::compile {

class CompiledStep {
 public:
  // Borrowed.
  explicit CompiledStep(const GraphSetup& setup) : graphs_(setup) {}

  // Takes the context's step if there is code for it, or else nothing, so that
  // the loop takes it. Errors and exceptions are eager's.
  absl::Status Run(WholeStepContext& context);

  // Those that are new.
  std::vector<Outcome> TakeOutcomes() { return graphs_.TakeOutcomes(); }

 private:
  // The tensors and numbers of all updates, in one list each.
  absl::StatusOr<std::vector<nn::NamedTensor>> Updated(
      const WholeStepContext& context) const;
  absl::StatusOr<at::Tensor> Numbers(const WholeStepContext& context,
                                     const std::vector<double>& rates);
  StepFunctions FunctionsOf(WholeStepContext& context) const;
  absl::Status SetInputs(WholeStepContext& context, const Value& batch);
  void RunGraph(CompiledGraph& graph, WholeStepContext& context,
                const Value& batch);
  std::unique_ptr<Trial> MakeTrial(WholeStepContext& context,
                                   const Value& batch,
                                   const TrialOptions& options);
  Value TakeEagerly(WholeStepContext& context, const Value& batch);
  void Update(const WholeStepContext& context, size_t first,
              const std::vector<at::Tensor>& numbers) const;

  GraphsByShape graphs_;
  std::optional<Inputs> inputs_;
  std::optional<Inputs> trial_inputs_;
  std::vector<size_t> number_counts_;  // by update
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_COMPILED_STEP_H_
