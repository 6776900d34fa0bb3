#include "trainer/loop/evaluation.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "ATen/core/grad_mode.h"
#include "trainer/checkpoint/fault_point.h"
#include "trainer/loop/device.h"
#include "trainer/loop/loss_meter.h"
#include "trainer/loop/return_if_error.h"
#include "trainer/loop/scope_stack.h"

namespace slipway::loop {
namespace {

// Evaluation mode for as long as it lives.
class EvaluationMode {
 public:
  explicit EvaluationMode(nn::Module& model) : model_(model) {
    model_.Train(false);
  }
  ~EvaluationMode() { model_.Train(true); }

 private:
  nn::Module& model_;
  at::NoGradGuard no_gradients_;
};

class Pass {
 public:
  Pass(TrainingState& state, HookRunner& hooks, const Evaluation& evaluation)
      : state_(state),
        hooks_(hooks),
        evaluation_(evaluation),
        loss_meter_(evaluation.loss_name) {}

  absl::Status Run(EvaluationResult& result) {
    EvaluationMode mode(*state_.model);
    ScopeStack scopes(state_.scopes);
    EvalContext context(state_);
    SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kEvalBegin>(context));
    for (const auto& metric : *evaluation_.metrics) metric->Reset();
    SLIPWAY_RETURN_IF_ERROR(Batches(result));
    if (result.complete) {
      SLIPWAY_RETURN_IF_ERROR(Compute(result.values));
      if (evaluation_.at_end) evaluation_.at_end(result.values);
    }
    return hooks_.Run<Hook::kEvalEnd>(context);
  }

 private:
  absl::Status Batches(EvaluationResult& result) {
    const int64_t all = evaluation_.loader->size();
    const int64_t batches =
        std::min(evaluation_.max_batches.value_or(all), all);
    // Epoch 0, whichever it is: validation samples do not change.
    std::unique_ptr<data::Epoch> pass = evaluation_.loader->Begin(0);
    for (int64_t done = 0; done < batches && result.complete;) {
      absl::StatusOr<std::optional<data::Batch>> batch = pass->Next();
      const bool stalled = absl::IsCancelled(batch.status());
      if (!stalled && !batch.ok()) return batch.status();
      const absl::StatusOr<bool> goes_on =
          evaluation_.goes_on ? evaluation_.goes_on(stalled) : !stalled;
      if (!goes_on.ok()) return goes_on.status();
      result.complete = *goes_on;
      if (!*goes_on || !batch->has_value()) break;
      state_.batch = **std::move(batch);
      SLIPWAY_RETURN_IF_ERROR(OneBatch());
      ++done;
      FaultPoint("evaluation_batch");
      if (evaluation_.progress) {
        result.complete = evaluation_.progress(done, batches);
      }
    }
    result.skipped_samples = pass->SkippedSamples();
    if (!result.complete) result.abandoned = std::move(pass);
    return absl::OkStatus();
  }

  absl::Status OneBatch() {
    MoveTo(state_.device, state_.batch);
    EvalContext context(state_);
    SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kEvalBatchBegin>(context));
    state_.prediction = Value();
    SLIPWAY_RETURN_IF_ERROR(hooks_.Run<Hook::kEvalForward>(context));
    if (state_.prediction.empty()) {
      state_.prediction = state_.model->Run(state_.batch.input);
    }
    SLIPWAY_RETURN_IF_ERROR(AddLoss());
    for (const auto& metric : *evaluation_.metrics) {
      SLIPWAY_RETURN_IF_ERROR(metric->Update(
          state_.prediction, state_.batch.target, state_.batch.valid));
    }
    return hooks_.Run<Hook::kEvalBatchEnd>(context);
  }

  absl::Status Compute(NamedValues& values) {
    dist::ProcessGroup alone;
    dist::ProcessGroup& group =
        evaluation_.group != nullptr ? *evaluation_.group : alone;
    if (evaluation_.loss != nullptr) {
      absl::StatusOr<NamedValues> loss = ComputeOverRanks(loss_meter_, group);
      if (!loss.ok()) return loss.status();
      values = *std::move(loss);
    }
    const absl::StatusOr<NamedValues> metrics =
        ComputeOverRanks(*evaluation_.metrics, group);
    if (!metrics.ok()) return metrics.status();
    values.insert(values.end(), metrics->begin(), metrics->end());
    return absl::OkStatus();
  }

  absl::Status AddLoss() {
    if (evaluation_.loss == nullptr) return absl::OkStatus();
    absl::StatusOr<LossOutput> loss =
        evaluation_.loss->Compute(state_.prediction, state_.batch.target);
    if (!loss.ok()) return loss.status();
    loss_meter_.Add(*loss, state_.batch.valid);
    return absl::OkStatus();
  }

  TrainingState& state_;
  HookRunner& hooks_;
  const Evaluation& evaluation_;
  LossMeter loss_meter_;
};

}  // namespace

absl::StatusOr<EvaluationResult> Evaluate(TrainingState& state,
                                          HookRunner& hooks,
                                          const Evaluation& evaluation) {
  const auto start = std::chrono::steady_clock::now();
  const std::string outer = std::exchange(state.split, evaluation.split);
  EvaluationResult result;
  const absl::Status status = Pass(state, hooks, evaluation).Run(result);
  state.split = outer;
  state.prediction = Value();
  if (!status.ok()) return status;
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return result;
}

}  // namespace slipway::loop
