// A model's forward, in one of its modes, compiled where that is right and
// faster.
//
//   CompiledForward train(model, setup);
//   output = train.Run(forward, batch);      // in each step
//   for (const Outcome& outcome : train.TakeOutcomes()) Log(outcome);
//
// Each shape of batch is a case of its own: see graphs_by_shape.h. Belongs to
// the training thread.
#ifndef SLIPWAY_PLUGINS_COMPILE_COMPILED_FORWARD_H_
#define SLIPWAY_PLUGINS_COMPILE_COMPILED_FORWARD_H_

#include <optional>
#include <vector>

#include "plugins/compile/compiled_graph.h"
#include "plugins/compile/graphs_by_shape.h"
#include "plugins/compile/inputs.h"
#include "plugins/compile/outcome.h"
#include "trainer/nn/module.h"
#include "trainer/nn/value.h"

namespace slipway::compile {

class CompiledForward {
 public:
  // Both are borrowed.
  CompiledForward(const nn::Module& model, const GraphSetup& setup)
      : model_(model), graphs_(setup) {}

  // `forward(batch)`, one way or the other. Throws what that throws.
  Value Run(const nn::Module::ForwardFunction& forward, const Value& batch);

  // Those that are new.
  std::vector<Outcome> TakeOutcomes() { return graphs_.TakeOutcomes(); }

 private:
  Value RunGraph(CompiledGraph& graph,
                 const nn::Module::ForwardFunction& forward,
                 const Value& batch);

  const nn::Module& model_;
  GraphsByShape graphs_;
  std::optional<Inputs> inputs_;
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_COMPILED_FORWARD_H_
