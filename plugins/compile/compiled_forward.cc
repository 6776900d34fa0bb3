#include "plugins/compile/compiled_forward.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway::compile {
namespace {

// A model whose batches have ever other shapes is no case for a compiler.
constexpr size_t kMaxGraphs = 8;

std::string ShapesOf(const std::vector<at::Tensor>& tensors) {
  std::string text;
  for (const at::Tensor& tensor : tensors) {
    absl::StrAppend(&text, c10::toString(tensor.scalar_type()), "[",
                    absl::StrJoin(tensor.sizes(), ","), "|",
                    absl::StrJoin(tensor.strides(), ","), "]");
  }
  return text;
}

}  // namespace

Value CompiledForward::Run(const nn::Module::ForwardFunction& forward,
                           const Value& batch) {
  if (inputs_) {
    inputs_->set_batch(batch);
  } else {
    inputs_.emplace(model_, batch);
  }
  CompiledGraph* graph = Find();
  if (graph == nullptr && IsDue()) {
    graphs_.push_back(
        std::make_unique<CompiledGraph>(setup_, forward, *inputs_, batch));
    graph = graphs_.back().get();
  }
  Value output =
      graph == nullptr ? forward(batch) : graph->Run(forward, *inputs_, batch);
  // A batch is not held until the next one comes.
  inputs_->set_batch(Value());
  return output;
}

CompiledGraph* CompiledForward::Find() {
  for (const std::unique_ptr<CompiledGraph>& graph : graphs_) {
    if (graph->Fits(*inputs_)) return graph.get();
  }
  return nullptr;
}

bool CompiledForward::IsDue() {
  if (graphs_.empty()) return true;
  const bool alone = setup_.peers == nullptr || setup_.peers->alone();
  if (!alone || graphs_.size() == kMaxGraphs) return false;
  if (seen_.insert(ShapesOf(inputs_->batch())).second) return false;
  if (graphs_.size() + 1 == kMaxGraphs) {
    limit_.emplace();
    limit_->graph = setup_.graph;
    limit_->reason =
        absl::StrCat("batches come in more than ", kMaxGraphs,
                     " shapes; those without a graph run eagerly from now on");
  }
  return true;
}

std::vector<Outcome> CompiledForward::TakeOutcomes() {
  std::vector<Outcome> outcomes;
  for (const std::unique_ptr<CompiledGraph>& graph : graphs_) {
    const std::optional<Outcome> outcome = graph->TakeOutcome();
    if (outcome) outcomes.push_back(*outcome);
  }
  if (limit_) outcomes.push_back(*std::exchange(limit_, std::nullopt));
  return outcomes;
}

}  // namespace slipway::compile
