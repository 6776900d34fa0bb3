// Small real things that tests of the loop train with: a linear net on points
// of a plane, plain gradient descent, and a reporter that writes all down.
//
//   TrainerParts parts = LinearParts(/*samples=*/64, /*batch_size=*/8);
//   TrainerOptions options = Options(/*epochs=*/3);
//   Problems problems;
//   auto trainer = Trainer::Create(std::move(parts), options, problems);
//   trainer->AddReporter(std::make_unique<Diary>(heard));
#ifndef SLIPWAY_TRAINER_LOOP_FIXTURES_H_
#define SLIPWAY_TRAINER_LOOP_FIXTURES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "trainer/loop/trainer.h"
#include "trainer/plugin/plugin.h"
#include "trainer/report/reporter.h"

namespace slipway::loop {

// Points (x, y) and their class, 1 where x > y. `fault` may fail or alter the
// sample at an index.
std::unique_ptr<data::Dataset> Points(
    int64_t size,
    std::function<absl::Status(int64_t index, data::Sample& sample)> fault =
        nullptr);

std::unique_ptr<data::Loader> PointsLoader(
    int64_t size, int64_t batch_size,
    std::function<absl::Status(int64_t, data::Sample&)> fault = nullptr);

// logits = x * weight + bias, from two numbers to two classes; starts at zero.
std::unique_ptr<nn::Module> LinearNet();

// Cross entropy, written out.
std::unique_ptr<Loss> PlainLoss();

// The share of right answers, named "Accuracy".
std::unique_ptr<Metric> PlainAccuracy();

// parameter -= rate * gradient; a StepUpdate, too. Every step's rates go to
// `rates` if given.
std::unique_ptr<Optimizer> PlainSgd(
    std::vector<ParameterGroup> groups,
    std::vector<std::vector<double>>* rates = nullptr);

// All of the above, with `valid_samples` to validate on (0: no validation).
TrainerParts LinearParts(int64_t samples, int64_t batch_size,
                         int64_t valid_samples = 0);

// A recipe of `epochs` epochs at rate 0.5; `extra` are further
// training_hyperparams. Wrong ones fail the test.
TrainerOptions Options(
    int64_t epochs,
    std::vector<std::pair<std::string, recipe::Node>> extra = {});

// All that a run tells, in order.
struct Heard {
  std::vector<BeginReport> begins;
  std::vector<StepReport> steps;
  std::vector<EpochReport> epochs;
  std::vector<EventReport> events;
  std::vector<Problem> problems;
  std::vector<EndReport> ends;

  // Names of events, without checkpoints'.
  std::vector<std::string> EventNames() const;
};

class Diary : public Reporter {
 public:
  explicit Diary(Heard& heard) : heard_(heard) {}
  absl::Status OnBegin(const BeginReport& begin) override;
  absl::Status OnStep(const StepReport& step) override;
  absl::Status OnEpoch(const EpochReport& epoch) override;
  absl::Status OnEvent(const EventReport& event) override;
  absl::Status OnProblem(const Problem& problem) override;
  absl::Status OnEnd(const EndReport& end) override;

 private:
  Heard& heard_;
};

// A plugin whose hooks are functions of the test's. It is called at every hook.
struct Probe : public Plugin {
  std::function<absl::Status(FitContext&)> epoch_begin, epoch_end, fit_begin;
  std::function<absl::Status(OptimizerContext&)> build_optimizer;
  std::function<absl::Status(WrapContext&)> wrap_forward;
  std::function<absl::Status(ConfigureContext&)> configure;
  std::function<absl::Status(BatchContext&)> step_begin;
  std::function<absl::Status(ForwardContext&)> before_forward;
  std::function<absl::Status(OutputContext&)> compute_loss, after_loss;
  std::function<absl::Status(GradientContext&)> before_backward,
      before_optimizer;
  std::function<absl::Status(StepContext&)> after_optimizer;
  std::function<absl::Status(EvalContext&)> eval_begin, eval_forward, eval_end;
  std::function<absl::Status(CheckpointContext&)> before_save, after_save;
  // Every hook that was called, by name.
  std::vector<std::string>* calls = nullptr;

  absl::Status Configure(ConfigureContext& context) override;
  absl::Status CreateModel(ModelContext& context) override;
  absl::Status TransformModel(ModelContext& context) override;
  absl::Status BuildOptimizer(OptimizerContext& context) override;
  absl::Status WrapForward(WrapContext& context) override;
  absl::Status FitBegin(FitContext& context) override;
  absl::Status EpochBegin(FitContext& context) override;
  absl::Status BatchFetched(BatchContext& context) override;
  absl::Status StepBegin(BatchContext& context) override;
  absl::Status MicroBegin(BatchContext& context) override;
  absl::Status BeforeForward(ForwardContext& context) override;
  absl::Status AfterForward(OutputContext& context) override;
  absl::Status ComputeLoss(OutputContext& context) override;
  absl::Status AfterLoss(OutputContext& context) override;
  absl::Status BeforeBackward(GradientContext& context) override;
  absl::Status AfterBackward(GradientContext& context) override;
  absl::Status MicroEnd(GradientContext& context) override;
  absl::Status BeforeOptimizer(GradientContext& context) override;
  absl::Status AfterOptimizer(StepContext& context) override;
  absl::Status StepEnd(StepContext& context) override;
  absl::Status EpochEnd(FitContext& context) override;
  absl::Status EvalBegin(EvalContext& context) override;
  absl::Status EvalBatchBegin(EvalContext& context) override;
  absl::Status EvalForward(EvalContext& context) override;
  absl::Status EvalBatchEnd(EvalContext& context) override;
  absl::Status EvalEnd(EvalContext& context) override;
  absl::Status BeforeSave(CheckpointContext& context) override;
  absl::Status AfterSave(CheckpointContext& context) override;
  absl::Status FitEnd(FitContext& context) override;
  void OnFailure(const absl::Status& status) override;
  void Close() override;
};

// A runner of one such plugin, "probe".
std::unique_ptr<HookRunner> ProbeRunner(std::unique_ptr<Probe> probe);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_FIXTURES_H_
