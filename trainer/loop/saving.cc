#include "trainer/loop/saving.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/fault_point.h"
#include "trainer/loop/averaging.h"
#include "trainer/loop/capturing.h"
#include "trainer/loop/ending.h"
#include "trainer/loop/return_if_error.h"

namespace slipway::loop {
namespace {

std::string PathOf(const Run& run, const std::string& file) {
  return absl::StrCat(run.options.run_dir, "/", file);
}

// What to do about the ways in which a disk lets one down.
std::string HintFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kResourceExhausted:
      return "free some space, then go on with resume=true: the checkpoint "
             "before this one is whole";
    case absl::StatusCode::kNotFound:
      return "the run folder is gone or was moved; a run needs it to its end";
    case absl::StatusCode::kPermissionDenied:
      return "the run folder must stay writable; see its permissions, and "
             "whether its disk was mounted read-only";
    default:
      return "";
  }
}

// Only rank 0 does; the others hear that its files are whole (FinishSaves).
bool Writes(const Run& run) { return run.state.rank == 0; }

absl::Status SaveFailed(Run& run, const absl::Status& status) {
  return Failed(run, "checkpoint", status, HintFor(status));
}

// The state, for `files`.
absl::StatusOr<SaveJob> StateJob(Run& run,
                                 const std::vector<std::string>& files) {
  run.state.checkpoint_path = PathOf(run, files.back());
  CheckpointContext context(run.state);
  const absl::StatusOr<Checkpoint> checkpoint = CaptureAllRanks(run, context);
  if (!checkpoint.ok()) return checkpoint.status();
  SaveJob job;
  if (!Writes(run)) return job;
  job.tree = CheckpointTree(*checkpoint, job.tensors);
  for (const std::string& file : files) {
    const bool latest = file == run.hyperparams().ckpt_name;
    job.files.push_back(
        {.path = PathOf(run, file),
         .replaced = latest ? Replaced::kPrevious : Replaced::kGone});
  }
  return job;
}

absl::Status Write(Run& run, SaveJob state) {
  std::vector<SaveJob> jobs;
  AddModelJob(run, jobs);
  jobs.push_back(std::move(state));
  const absl::Status started = run.saves.writer.Start(std::move(jobs));
  return started.ok() ? started : SaveFailed(run, started);
}

absl::Status Save(Run& run, const std::vector<std::string>& files) {
  const PhaseScope phase(run.timer.get(), Phase::kSaving);
  SLIPWAY_RETURN_IF_ERROR(FinishSaves(run));
  absl::StatusOr<SaveJob> state = StateJob(run, files);
  if (!state.ok()) return state.status();
  if (Writes(run)) SLIPWAY_RETURN_IF_ERROR(Write(run, *std::move(state)));
  for (const std::string& file : files) {
    run.saves.pending.push_back(
        {.file = file, .epoch = run.state.epoch, .step = run.state.step});
  }
  return absl::OkStatus();
}

bool Saves(const Run& run) {
  return run.hyperparams().save_model && !run.options.run_dir.empty();
}

// Files become whole in the order in which they were started.
void TellFile(Run& run, const PendingFile& pending) {
  if (pending.file == run.hyperparams().ckpt_name) {
    run.result.latest_checkpoint = pending.file;
    FaultPoint("save_after");
  } else if (pending.file == run.hyperparams().ckpt_best_name) {
    run.result.best_checkpoint = pending.file;
  }
  EventReport event;
  event.name = "checkpoint";
  event.epoch = pending.epoch;
  event.step = pending.step;
  event.detail = {{"file", pending.file}};
  run.reporters.OnEvent(event);
}

absl::Status TellNext(Run& run, bool call_hooks) {
  const PendingFile pending = std::move(run.saves.pending.front());
  run.saves.pending.pop_front();
  TellFile(run, pending);
  if (!call_hooks) return absl::OkStatus();
  run.state.checkpoint_path = PathOf(run, pending.file);
  CheckpointContext context(run.state);
  return run.hooks().Run<Hook::kAfterSave>(context);
}

absl::Status TellWhole(Run& run, bool call_hooks) {
  for (const std::string& path : run.saves.writer.TakeFinished()) {
    if (TakeModelFile(run, path)) continue;
    SLIPWAY_RETURN_IF_ERROR(TellNext(run, call_hooks));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SaveLatest(Run& run) {
  if (!Saves(run)) return absl::OkStatus();
  SLIPWAY_RETURN_IF_ERROR(Save(run, {run.hyperparams().ckpt_name}));
  run.saved = run.position();
  return absl::OkStatus();
}

absl::Status SaveBest(Run& run) {
  if (!Saves(run)) return absl::OkStatus();
  return Save(run, {run.hyperparams().ckpt_best_name});
}

absl::Status SaveAfterEpoch(Run& run, bool is_best) {
  FaultPoint("epoch_end");
  if (!Saves(run)) return absl::OkStatus();
  std::vector<std::string> files;
  if (is_best) files.push_back(run.hyperparams().ckpt_best_name);
  if (run.hyperparams().SavesEpoch(run.finished_epochs - 1)) {
    files.push_back(absl::StrCat("ckpt_epoch_", run.finished_epochs, ".pth"));
  }
  files.push_back(run.hyperparams().ckpt_name);
  SLIPWAY_RETURN_IF_ERROR(Save(run, files));
  run.saved = run.position();
  return absl::OkStatus();
}

absl::Status TellSaved(Run& run) {
  SLIPWAY_RETURN_IF_ERROR(TellWhole(run, /*call_hooks=*/true));
  const absl::Status status = run.saves.writer.status();
  return status.ok() ? status : SaveFailed(run, status);
}

absl::Status FinishSaves(Run& run) {
  const PhaseScope phase(run.timer.get(), Phase::kSaving);
  run.saves.writer.Wait().IgnoreError();  // TellSaved returns it
  SLIPWAY_RETURN_IF_ERROR(TellSaved(run));
  SLIPWAY_RETURN_IF_ERROR(run.group().Barrier());
  while (!run.saves.pending.empty()) {
    SLIPWAY_RETURN_IF_ERROR(TellNext(run, /*call_hooks=*/true));
  }
  return absl::OkStatus();
}

void FinishSavesOfFailed(Run& run) {
  run.saves.writer.Wait().IgnoreError();  // the run has failed already
  TellWhole(run, /*call_hooks=*/false).IgnoreError();
}

}  // namespace slipway::loop
