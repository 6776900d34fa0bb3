#include "plugins/compile/forward_and_loss.h"

#include <utility>

#include "absl/status/statusor.h"
#include "c10/util/Exception.h"

namespace slipway::compile {
namespace {

Value Detached(const Value& value) {
  return value.Transform([](const at::Tensor& x) { return x.detach(); });
}

}  // namespace

Value WithTarget(const data::Batch& batch) {
  return Value(Value::Map{{"input", batch.input}, {"target", batch.target}});
}

Value ForwardAndLoss(WholeStepContext& context, const Value& batch) {
  const Value prediction = context.RunModel(*batch.Find("input"));
  const absl::StatusOr<LossOutput> loss =
      context.loss().Compute(prediction, *batch.Find("target"));
  TORCH_CHECK(loss.ok(), loss.status().message());
  Value::Map items;
  for (const auto& [name, value] : loss->items) {
    items.emplace_back(name, value.detach());
  }
  return Value(Value::Map{{"loss", Value(loss->total)},
                          {"items", Value(std::move(items))},
                          {"prediction", Detached(prediction)}});
}

LossOutput LossOf(const Value& output) {
  LossOutput loss{.total = output.Find("loss")->tensor()};
  for (const auto& [name, value] : output.Find("items")->map()) {
    loss.items.emplace_back(name, value.tensor());
  }
  return loss;
}

Value PredictionOf(const Value& output) { return *output.Find("prediction"); }

}  // namespace slipway::compile
