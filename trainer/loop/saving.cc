#include "trainer/loop/saving.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/loop/capturing.h"
#include "trainer/loop/ending.h"
#include "trainer/loop/reports.h"
#include "trainer/loop/return_if_error.h"

namespace slipway::loop {
namespace {

absl::Status Save(Run& run, const std::string& file) {
  run.state.checkpoint_path = absl::StrCat(run.options.run_dir, "/", file);
  CheckpointContext context(run.state);
  const absl::StatusOr<Checkpoint> checkpoint = Capture(run, context);
  if (!checkpoint.ok()) return checkpoint.status();
  const absl::Status written =
      WriteCheckpoint(*checkpoint, run.state.checkpoint_path);
  if (!written.ok()) return Failed(run, "checkpoint", written);
  TellEvent(run, "checkpoint", {{"file", file}});
  return run.hooks().Run<Hook::kAfterSave>(context);
}

bool Saves(const Run& run) {
  return run.hyperparams().save_model && !run.options.run_dir.empty();
}

}  // namespace

absl::Status SaveLatest(Run& run) {
  if (!Saves(run)) return absl::OkStatus();
  SLIPWAY_RETURN_IF_ERROR(Save(run, run.hyperparams().ckpt_name));
  run.result.latest_checkpoint = run.hyperparams().ckpt_name;
  run.saved = run.position();
  return absl::OkStatus();
}

absl::Status SaveBest(Run& run) {
  if (!Saves(run)) return absl::OkStatus();
  SLIPWAY_RETURN_IF_ERROR(Save(run, run.hyperparams().ckpt_best_name));
  run.result.best_checkpoint = run.hyperparams().ckpt_best_name;
  return absl::OkStatus();
}

absl::Status SaveAfterEpoch(Run& run, bool is_best) {
  if (!Saves(run)) return absl::OkStatus();
  // The latest comes last: whoever is killed before that makes the others once
  // more after a resume.
  if (is_best) SLIPWAY_RETURN_IF_ERROR(SaveBest(run));
  if (run.hyperparams().SavesEpoch(run.finished_epochs - 1)) {
    SLIPWAY_RETURN_IF_ERROR(
        Save(run, absl::StrCat("ckpt_epoch_", run.finished_epochs, ".pth")));
  }
  return SaveLatest(run);
}

}  // namespace slipway::loop
