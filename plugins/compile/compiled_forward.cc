#include "plugins/compile/compiled_forward.h"

#include <memory>

namespace slipway::compile {

Value CompiledForward::Run(const nn::Module::ForwardFunction& forward,
                           const Value& batch) {
  if (inputs_) {
    inputs_->set_batch(batch);
  } else {
    inputs_.emplace(model_, batch);
  }
  CompiledGraph* const graph = graphs_.For(
      *inputs_, [&] { return CaptureForward(forward, *inputs_, batch); });
  Value output =
      graph == nullptr ? forward(batch) : RunGraph(*graph, forward, batch);
  // A batch is not held until the next one comes.
  inputs_->set_batch(Value());
  return output;
}

Value CompiledForward::RunGraph(CompiledGraph& graph,
                                const nn::Module::ForwardFunction& forward,
                                const Value& batch) {
  const Package* const package = graph.Ready([&](const TrialOptions& options) {
    return std::make_unique<Trial>(OfGraphInputs(forward, *inputs_, batch),
                                   *inputs_, options);
  });
  if (package == nullptr) return forward(batch);
  return graph.Unflatten(package->Run(inputs_->tensors()));
}

}  // namespace slipway::compile
