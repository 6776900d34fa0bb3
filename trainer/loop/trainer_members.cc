// What a trainer is besides its loop (trainer.cc): made, told things and asked.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/loop/measure_memory.h"
#include "trainer/loop/resuming.h"
#include "trainer/loop/run.h"
#include "trainer/loop/setup.h"
#include "trainer/loop/trainer.h"

namespace slipway::loop {

std::unique_ptr<Trainer> Trainer::Create(TrainerParts parts,
                                         TrainerOptions options,
                                         Problems& problems) {
  auto run = std::make_unique<Run>();
  run->parts = std::move(parts);
  run->options = std::move(options);
  if (run->parts.hooks == nullptr) {
    run->parts.hooks = std::make_unique<HookRunner>(
        std::vector<RunningPlugin>(), HookRunner::Order());
  }
  run->parts.hooks->set_timing(true);
  for (auto& reporter : run->parts.reporters) {
    run->reporters.Add(std::move(reporter));
  }
  if (!SetUp(*run, problems)) return nullptr;
  return std::unique_ptr<Trainer>(new Trainer(std::move(run)));
}

Trainer::Trainer(std::unique_ptr<Run> run) : run_(std::move(run)) {}
Trainer::~Trainer() = default;

void Trainer::ProfileSteps(const ProfiledSteps& steps) {
  run_->profiler.Plan(steps, run_->options.run_dir,
                      !run_->options.device.is_cpu());
}

void Trainer::AddReporter(std::unique_ptr<Reporter> reporter) {
  run_->reporters.Add(std::move(reporter));
}

void Trainer::ObserveState(std::unique_ptr<StateObserver> observer) {
  run_->state_observer = std::move(observer);
}

bool Trainer::Resume(const Checkpoint& checkpoint, const ResumeOptions& options,
                     Problems& problems) {
  return ResumeRun(*run_, checkpoint, options, problems);
}

const std::optional<ResumedFrom>& Trainer::resumed_from() const {
  return run_->result.resumed_from;
}

absl::StatusOr<MemoryPlan> Trainer::MeasureMemory() {
  return loop::MeasureMemory(*run_);
}

std::atomic<int>& Trainer::stop_signal() { return run_->stop_signal; }

std::unique_ptr<nn::Module> Trainer::TakeModel() {
  return std::move(run_->parts.model);
}

nn::Module& Trainer::model() { return *run_->parts.model; }
const nn::Module& Trainer::model() const { return *run_->parts.model; }
const HookRunner& Trainer::hooks() const { return *run_->parts.hooks; }
const LrPlan& Trainer::lr_plan() const { return *run_->lr_plan; }

std::vector<std::string> Trainer::group_names() const {
  std::vector<std::string> names;
  for (const ParameterGroup& group : run_->optimizer->groups()) {
    names.push_back(group.name);
  }
  return names;
}

int64_t Trainer::batches_per_epoch() const {
  return run_->state.batches_per_epoch;
}

int64_t Trainer::steps_per_epoch() const { return run_->state.steps_per_epoch; }

const Hyperparams& Trainer::hyperparams() const { return run_->hyperparams(); }

}  // namespace slipway::loop
