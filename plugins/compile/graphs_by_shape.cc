#include "plugins/compile/graphs_by_shape.h"

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

CompiledGraph* GraphsByShape::For(
    const Inputs& inputs,
    const std::function<absl::StatusOr<Capture>()>& capture) {
  CompiledGraph* const graph = Find(inputs);
  if (graph != nullptr || !IsDue(inputs)) return graph;
  graphs_.push_back(std::make_unique<CompiledGraph>(setup_, capture(), inputs));
  return graphs_.back().get();
}

CompiledGraph* GraphsByShape::Find(const Inputs& inputs) {
  for (const std::unique_ptr<CompiledGraph>& graph : graphs_) {
    if (graph->Fits(inputs)) return graph.get();
  }
  return nullptr;
}

bool GraphsByShape::IsDue(const Inputs& inputs) {
  if (graphs_.empty()) return true;
  const bool alone = setup_.peers == nullptr || setup_.peers->alone();
  if (!alone || graphs_.size() == kMaxGraphs) return false;
  if (seen_.insert(ShapesOf(inputs.batch())).second) return false;
  if (graphs_.size() + 1 == kMaxGraphs) {
    limit_.emplace();
    limit_->graph = setup_.graph;
    limit_->scope = setup_.scope;
    limit_->reason =
        absl::StrCat("batches come in more than ", kMaxGraphs,
                     " shapes; those without a graph run eagerly from now on");
  }
  return true;
}

std::vector<Outcome> GraphsByShape::TakeOutcomes() {
  std::vector<Outcome> outcomes;
  for (const std::unique_ptr<CompiledGraph>& graph : graphs_) {
    const std::optional<Outcome> outcome = graph->TakeOutcome();
    if (outcome) outcomes.push_back(*outcome);
  }
  if (limit_) outcomes.push_back(*std::exchange(limit_, std::nullopt));
  return outcomes;
}

}  // namespace slipway::compile
