#include "trainer/loop/rollback.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/loop/capturing.h"
#include "trainer/loop/gradients.h"
#include "trainer/loop/reports.h"
#include "trainer/loop/restoring.h"
#include "trainer/loop/return_if_error.h"

namespace slipway::loop {
namespace {

bool IsFinite(const nn::Module& model) {
  std::vector<at::Tensor> tensors;
  for (auto& [name, tensor] : model.StateDict()) {
    if (tensor.is_floating_point()) tensors.push_back(tensor.detach());
  }
  return AllFinite(tensors);
}

// The state as a value whose tensors are still the training's own.
absl::StatusOr<Checkpoint> CaptureInMemory(Run& run) {
  run.state.checkpoint_path.clear();
  CheckpointContext context(run.state);
  absl::StatusOr<Checkpoint> state = Capture(run, context);
  if (!state.ok()) return state;
  SLIPWAY_RETURN_IF_ERROR(run.hooks().Run<Hook::kAfterSave>(context));
  return state;
}

}  // namespace

bool Rollback::IsWanted(const Hyperparams& hyperparams) {
  return hyperparams.non_finite == NonFinite::kRollback ||
         hyperparams.loss_spike.has_value();
}

Rollback::Rollback(Run& run)
    : run_(run),
      undo_(run.state, run.parts.loss.get(), run.parts.train_metrics,
            run.train_loss) {
  run.stepper->set_guards(
      {.spikes = run.spikes ? &*run.spikes : nullptr, .undo = &undo_});
}

Rollback::~Rollback() { run_.stepper->set_guards({}); }

absl::Status Rollback::BeforeBatch() {
  if (run_.state.step > bad_step_) tries_ = 0;
  // A window that a resumed run goes on with began in another process.
  if (run_.state.micro > 0 && marked_) return absl::OkStatus();
  if (KeepsNow()) SLIPWAY_RETURN_IF_ERROR(Keep());
  undo_.Mark();
  marked_ = true;
  first_batch_ = run_.batches_done;
  return absl::OkStatus();
}

bool Rollback::KeepsNow() const {
  if (run_.state.micro > 0 || tries_ > 0) return false;
  return !kept_ || run_.state.step >= kept_->step + kKeepEvery;
}

absl::Status Rollback::Keep() {
  if (!IsFinite(*run_.parts.model)) return absl::OkStatus();
  absl::StatusOr<Checkpoint> state = CaptureInMemory(run_);
  if (!state.ok()) return state.status();
  // The memory of the last one first.
  kept_.reset();
  kept_.emplace(Copy(*state));
  return absl::OkStatus();
}

absl::Status Rollback::TakeBack(const std::string& what) {
  bad_step_ = std::max(bad_step_, run_.state.step);
  ++tries_;
  if (tries_ > kMaxTries) return GiveUp(what);
  ++rollbacks_;
  if (tries_ == 1 && IsFinite(*run_.parts.model)) {
    Tell(what, run_.state.step);
    return absl::OkStatus();
  }
  if (!kept_) return GiveUp(what);
  Tell(what, kept_->step);
  return ReturnToKept();
}

absl::Status Rollback::GiveUp(const std::string& what) {
  gave_up_ = true;
  const std::string before =
      kept_ ? absl::StrCat(tries_ - 1, " rollbacks in a row did not help")
            : "there is no good state to return to";
  return absl::FailedPreconditionError(absl::StrCat(what, "; ", before));
}

void Rollback::Tell(const std::string& what, int64_t to_step) {
  TellEvent(run_, "rollback",
            {{"reason", what},
             {"to_step", to_step},
             {"batches", {first_batch_, run_.batches_done - 1}},
             {"try", tries_},
             {"rollbacks", rollbacks_}});
}

// The training as it was kept, in the place and with the results of now.
absl::Status Rollback::ReturnToKept() {
  absl::StatusOr<Checkpoint> target = CaptureInMemory(run_);
  if (!target.ok()) return target.status();
  const Checkpoint& kept = *kept_;
  target->step = kept.step;
  target->net = kept.net;
  target->extra_nets = kept.extra_nets;
  target->optimizer = kept.optimizer;
  target->scaler = kept.scaler;
  target->loss = kept.loss;
  target->plugins = kept.plugins;
  target->grads.clear();
  target->loop.skip_reason.clear();
  target->loop.recent_losses = kept.loop.recent_losses;
  const Position saved = run_.saved;
  SLIPWAY_RETURN_IF_ERROR(Restore(run_, *target, {}));
  run_.saved = saved;
  // Meters and generators are where they should be.
  run_.restored.reset();
  return absl::OkStatus();
}

}  // namespace slipway::loop
