#include "trainer/loop/observing.h"

#include <utility>

#include "trainer/loop/capturing.h"
#include "trainer/loop/return_if_error.h"
#include "trainer/loop/state_hash.h"

namespace slipway::loop {
namespace {

StateRecord PlaceOf(const Run& run) {
  return {.rank = run.state.rank,
          .epoch = run.finished_epochs,
          .batch = run.batches_done,
          .step = run.state.step,
          .hashes = {}};
}

void EndObservation(Run& run, const absl::Status& status) {
  run.state_observer.reset();
  Problem problem;
  problem.kind = "value";
  problem.severity = Severity::kWarning;
  problem.message = "no more hashes of the state";
  problem.detail = std::string(status.message());
  run.state.report(std::move(problem));
}

absl::Status Observe(Run& run, bool edge) {
  if (run.state_observer == nullptr) return absl::OkStatus();
  StateRecord record = PlaceOf(run);
  if (!run.state_observer->Wants(record, edge)) return absl::OkStatus();
  run.state.checkpoint_path.clear();
  CheckpointContext context(run.state);
  const absl::StatusOr<Checkpoint> state = Capture(run, context);
  if (!state.ok()) return state.status();
  record.hashes = HashState(*state);
  const absl::Status seen = run.state_observer->Observe(record);
  if (!seen.ok()) EndObservation(run, seen);
  return run.hooks().Run<Hook::kAfterSave>(context);
}

}  // namespace

absl::Status ObserveBegin(Run& run) {
  return run.restored ? absl::OkStatus() : Observe(run, /*edge=*/true);
}

absl::Status ObserveStep(Run& run) { return Observe(run, /*edge=*/false); }

absl::Status ObserveEnd(Run& run) {
  const bool done = run.finished_epochs >= run.hyperparams().max_epochs;
  return done ? Observe(run, /*edge=*/true) : absl::OkStatus();
}

}  // namespace slipway::loop
