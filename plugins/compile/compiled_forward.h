// A model's forward, in one of its modes, with a compiled graph for each shape
// of batch that comes often enough.
//
//   CompiledForward train(model, setup);
//   output = train.Run(forward, batch);      // in each step
//   for (const Outcome& outcome : train.TakeOutcomes()) Log(outcome);
//
// The first shape is compiled at once, another one when it repeats; sizes of
// the batch dimension are one shape, as a rule. Everything else runs eagerly;
// beyond some shapes, which one outcome says, all others do.
// Several ranks compile the first one only: they meet in it.
// Belongs to the training thread.
#ifndef SLIPWAY_PLUGINS_COMPILE_COMPILED_FORWARD_H_
#define SLIPWAY_PLUGINS_COMPILE_COMPILED_FORWARD_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/compile/compiled_graph.h"
#include "plugins/compile/inputs.h"
#include "plugins/compile/outcome.h"
#include "trainer/nn/module.h"
#include "trainer/nn/value.h"

namespace slipway::compile {

class CompiledForward {
 public:
  // Both are borrowed.
  CompiledForward(const nn::Module& model, const GraphSetup& setup)
      : model_(model), setup_(setup) {}

  // `forward(batch)`, one way or the other. Throws what that throws.
  Value Run(const nn::Module::ForwardFunction& forward, const Value& batch);

  // Those that are new.
  std::vector<Outcome> TakeOutcomes();

 private:
  CompiledGraph* Find();
  bool IsDue();

  const nn::Module& model_;
  const GraphSetup& setup_;
  std::optional<Inputs> inputs_;
  std::vector<std::unique_ptr<CompiledGraph>> graphs_;
  std::set<std::string> seen_;    // shapes without a graph
  std::optional<Outcome> limit_;  // to be told
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_COMPILED_FORWARD_H_
