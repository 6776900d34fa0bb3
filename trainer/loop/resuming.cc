#include "trainer/loop/resuming.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/loop/capturing.h"
#include "trainer/loop/restoring.h"
#include "trainer/plugin/exception.h"

namespace slipway::loop {
namespace {

Problem CannotResume(Run& run, const absl::Status& status) {
  if (run.hooks().failure()) return *run.hooks().failure();
  Problem problem;
  problem.kind = "checkpoint";
  problem.message = "the training cannot be resumed";
  problem.detail = std::string(status.message());
  return problem;
}

void Note(Run& run, std::string message, std::string detail) {
  Problem problem;
  problem.kind = "checkpoint";
  problem.severity = Severity::kNote;
  problem.message = std::move(message);
  problem.detail = std::move(detail);
  run.state.report(std::move(problem));
}

// Rates are the recipe's, whatever they were: both are told.
void CompareRates(Run& run, const Checkpoint& checkpoint) {
  nlohmann::ordered_json changed = nlohmann::ordered_json::object();
  std::vector<std::string> texts;
  for (const auto& [group, rate] : NextRates(run)) {
    for (const auto& [saved_group, saved] : checkpoint.schedule) {
      if (saved_group != group || saved == rate) continue;
      texts.push_back(absl::StrCat(group, ": ", saved, " -> ", rate));
      changed[group] = {saved, rate};
    }
  }
  if (texts.empty()) return;
  run.resume_detail["lr"] = std::move(changed);
  Note(run, "the learning rate is the recipe's, not the checkpoint's",
       absl::StrCat("of the next step, ", absl::StrJoin(texts, ", ")));
}

void TellWhatIsLeft(Run& run) {
  const int64_t epochs = run.hyperparams().max_epochs;
  if (run.finished_epochs < epochs) return;
  Note(run, "the training is complete already",
       absl::StrCat(run.finished_epochs, " of ", epochs,
                    " epochs are done; raise max_epochs to go on"));
}

void TellTheFile(Run& run, const Checkpoint& checkpoint) {
  if (!checkpoint.stripped_prefix.empty()) {
    Note(run, "the checkpoint's names begin with a wrapper's prefix",
         absl::StrCat("\"", checkpoint.stripped_prefix, "\" is taken off"));
  }
  if (!checkpoint.from_slipway) {
    Note(run, "the checkpoint is of another system",
         absl::StrCat("it has no place in the data and no random state: the "
                      "training goes on with epoch ",
                      checkpoint.epoch));
  }
}

// The files that are there already.
void TakeFiles(Run& run, const std::filesystem::path& checkpoint) {
  const Hyperparams& h = run.hyperparams();
  run.result.latest_checkpoint = h.ckpt_name;
  const auto best =
      std::filesystem::path(run.options.run_dir) / h.ckpt_best_name;
  std::error_code error;
  if (std::filesystem::exists(best, error)) {
    run.result.best_checkpoint = h.ckpt_best_name;
  }
  if (checkpoint.filename() == h.ckpt_name) run.saved = run.position();
}

void Complete(Run& run, const Checkpoint& checkpoint,
              const ResumeOptions& options) {
  run.earlier_seconds = checkpoint.loop.seconds;
  run.result.resumed_from = ResumedFrom{.path = options.path,
                                        .epoch = run.finished_epochs,
                                        .step = run.state.step};
  run.resume_detail = options.detail;
  run.resume_detail["path"] = options.path;
  if (options.same_folder) TakeFiles(run, options.path);
  TellTheFile(run, checkpoint);
  CompareRates(run, checkpoint);
  TellWhatIsLeft(run);
}

}  // namespace

bool ResumeRun(Run& run, const Checkpoint& checkpoint,
               const ResumeOptions& options, Problems& problems) {
  Problems found;
  run.state.report = [&found](Problem problem) {
    found.push_back(std::move(problem));
  };
  const absl::Status status = Guarded([&] {
    return Restore(run, checkpoint,
                   {.path = options.path,
                    .strict = options.strict,
                    .optimizer = options.optimizer});
  });
  if (status.ok()) {
    Complete(run, checkpoint, options);
  } else {
    found.push_back(CannotResume(run, status));
  }
  run.state.report = nullptr;
  problems.insert(problems.end(), found.begin(), found.end());
  if (status.ok()) return true;
  Context context(run.state);
  run.hooks().OnFailure(context, status);
  run.hooks().Close(context);
  return false;
}

}  // namespace slipway::loop
