// The training loop: epochs, steps, evaluation, checkpoints and reports around
// a model, its loaders and the plugins of a plan.
//
//   Problems problems;
//   std::unique_ptr<Trainer> trainer =
//       Trainer::Create(std::move(parts), options, problems);
//   if (trainer == nullptr) {
//     std::cerr << FormatProblems(problems);
//     return 2;
//   }
//   trainer->AddReporter(std::make_unique<ConsoleReporter>(...));
//   return trainer->Fit().exit_code;
//
// A step is one optimizer step, made of `batch_accumulate` micro-batches; its
// order is in step.h. An epoch is:
//
//   EpochBegin, steps, validation, EpochEnd, checkpoints
//
// Several processes train one model together if each has a trainer with the
// same parts, but its own share of the data (data/loader.h), and a group that
// connects them: together.h tells what they share. Files are rank 0's.
//
// Create runs every hook up to WrapForward and starts nothing: no file is
// written, no batch read. Fit trains once. Both belong to one thread, on which
// all hooks, reporters, losses and metrics run; only stop_signal() may be set
// from elsewhere. Fit does not throw: what hooks, ATen and data throw ends as
// the result's error.
#ifndef SLIPWAY_TRAINER_LOOP_TRAINER_H_
#define SLIPWAY_TRAINER_LOOP_TRAINER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "trainer/data/loader.h"
#include "trainer/loop/evaluation.h"
#include "trainer/loop/hyperparams.h"
#include "trainer/loop/lr_plan.h"
#include "trainer/loop/memory_plan.h"
#include "trainer/loop/profiled_steps.h"
#include "trainer/loop/run_result.h"
#include "trainer/loop/state_hash.h"
#include "trainer/nn/module.h"
#include "trainer/plan/plan.h"
#include "trainer/plugin/hook_runner.h"
#include "trainer/plugin/loss.h"
#include "trainer/plugin/optimizer.h"
#include "trainer/plugin/schedule.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"
#include "trainer/report/reporter.h"

namespace slipway {
struct Checkpoint;  // trainer/checkpoint/checkpoint.h
namespace dist {
class ProcessGroup;  // trainer/dist/process_group.h
}  // namespace dist
}  // namespace slipway

namespace slipway::loop {

// What is trained, and with what. All of it becomes the trainer's.
struct TrainerParts {
  std::unique_ptr<nn::Module> model;
  std::unique_ptr<data::Loader> train_loader;
  std::unique_ptr<data::Loader> valid_loader;  // null: no validation
  // Null only where a plugin claims the loss.
  std::unique_ptr<Loss> loss;
  // What the loss is called among the metrics, such as "CrossEntropyLoss".
  std::string loss_name = "loss";
  MetricList train_metrics;
  MetricList valid_metrics;
  std::unique_ptr<Schedule> schedule;  // null: the initial rate throughout
  // Null, with an error appended, if the groups do not suit it.
  std::function<std::unique_ptr<Optimizer>(std::vector<ParameterGroup>,
                                           Problems&)>
      make_optimizer;
  std::unique_ptr<HookRunner> hooks;  // null: no plugins
  // Those that the recipe names; AddReporter adds others.
  std::vector<std::unique_ptr<Reporter>> reporters;
};

struct TrainerOptions {
  Hyperparams hyperparams;
  // The whole recipe, composed: for hooks, parameter groups and checkpoints.
  recipe::Node recipe;
  std::string recipe_name;
  std::string experiment_name;
  std::string architecture;  // as the recipe calls the model
  // Where files go; it exists when Fit is called. Empty: none are written.
  std::string run_dir;
  at::Device device = at::kCPU;
  // What `hooks` came from.
  plan::Plan plan;
  // The ranks that train together, of which this process is one: connected when
  // Fit is called; borrowed. Null: it is alone.
  dist::ProcessGroup* group = nullptr;
};

// How a training is taken up from a checkpoint.
struct ResumeOptions {
  std::string path;  // of the checkpoint, for messages and the result
  // What does not fit by name or shape is an error; else a warning.
  bool strict = true;
  // Without it the optimizer and the loss scaler start afresh.
  bool optimizer = true;
  // `run_dir` is the folder of the run that wrote it, which is continued.
  bool same_folder = true;
  // What else the event `resume` tells, such as changes of the recipe.
  nlohmann::ordered_json detail = nlohmann::ordered_json::object();
};

struct Run;  // run.h

class Trainer {
 public:
  // Null if and only if `problems` gained an error. Warnings of hooks are
  // appended too; those that arise in Fit go to the reporters.
  static std::unique_ptr<Trainer> Create(TrainerParts parts,
                                         TrainerOptions options,
                                         Problems& problems);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Before Fit only.
  void AddReporter(std::unique_ptr<Reporter> reporter);

  // Shows hashes of the whole state to `observer`, which says when it looks.
  // Before Fit only.
  void ObserveState(std::unique_ptr<StateObserver> observer);

  // Puts the training where `checkpoint` was written, before Fit. False if and
  // only if `problems` gained an error, which lists all that does not fit; the
  // plugins are closed then. Where the recipe's learning rates are others than
  // the checkpoint's, the recipe's count: a note tells both.
  bool Resume(const Checkpoint& checkpoint, const ResumeOptions& options,
              Problems& problems);

  // What Resume took up; nullopt: nothing.
  const std::optional<ResumedFrom>& resumed_from() const;

  // Before Fit only: writes a trace of these steps into the run's folder.
  void ProfileSteps(const ProfiledSteps& steps);

  // Trains, once.
  RunResult Fit();

  // Instead of Fit: what the training holds in memory, measured by three steps
  // on at most 16 samples each. Writes no file; reads the first batch.
  absl::StatusOr<MemoryPlan> MeasureMemory();

  // Zero, or the number of the signal on which Fit ends: at the next step
  // boundary, or at once where the data of the next batch do not come, after
  // saving the latest checkpoint. A signal to one rank is a signal to all.
  std::atomic<int>& stop_signal();

  // Hands the model over, after Fit; model() must not be called then.
  std::unique_ptr<nn::Module> TakeModel();

  // What Create has planned.
  nn::Module& model();
  const nn::Module& model() const;
  const HookRunner& hooks() const;
  const LrPlan& lr_plan() const;
  // The parameter groups' names, in the order of LrPlan::At.
  std::vector<std::string> group_names() const;
  int64_t batches_per_epoch() const;
  int64_t steps_per_epoch() const;
  const Hyperparams& hyperparams() const;

 private:
  explicit Trainer(std::unique_ptr<Run> run);
  std::unique_ptr<Run> run_;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_TRAINER_H_
