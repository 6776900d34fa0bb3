#include "trainer/loop/whole_step.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/full.h"
#include "ATen/ops/isfinite.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/loop/fixtures.h"
#include "trainer/plugin/whole_step.h"

namespace slipway::loop {
namespace {

using recipe::Node;
using testing::ElementsAre;
using testing::IsEmpty;

// Takes steps in one call, of the same operations as the loop's.
struct WholeStepper : public Plugin {
  StepPart part = StepPart::kAll;
  std::string* blocker = nullptr;
  int64_t calls = 0;

  absl::Status WrapForward(WrapContext& context) override {
    if (blocker != nullptr) *blocker = context.StepBlocker();
    context.SetStep([this](WholeStepContext& step) { return Take(step); });
    return absl::OkStatus();
  }

  absl::Status Take(WholeStepContext& context) {
    ++calls;
    if (part == StepPart::kNone || context.skips()) return absl::OkStatus();
    const Value prediction = context.RunModel(context.current_batch().input);
    absl::StatusOr<LossOutput> loss =
        context.loss().Compute(prediction, context.current_batch().target);
    if (!loss.ok()) return loss.status();
    if (part == StepPart::kForward) {
      context.SetForward(prediction, *std::move(loss));
      return absl::OkStatus();
    }
    const at::Tensor total = loss->total.detach();
    const bool finite = at::isfinite(total).item().toBool();
    if (finite) Update(context, loss->total);
    context.SetStep(prediction, {.total = total, .items = {}},
                    at::full({}, finite, at::kBool));
    return absl::OkStatus();
  }

  static void Update(WholeStepContext& context, const at::Tensor& loss) {
    loss.backward();
    for (StepUpdate* update : context.updates()) {
      const auto numbers = context.NumbersOf(*update, context.learning_rates());
      std::vector<at::Tensor> scalars;
      for (const double number : *numbers) {
        scalars.push_back(at::full({}, number));
      }
      update->Update(scalars);
    }
    context.optimizer().ZeroGrad();
  }
};

// Counts steps, as an average of weights would.
struct Counter : public Plugin, public StepUpdate {
  std::vector<std::string>* calls = nullptr;

  absl::Status AfterOptimizer(StepContext& /*context*/) override {
    calls->push_back("AfterOptimizer");
    return absl::OkStatus();
  }
  const void* Query(std::string_view interface) override {
    return interface == kStepUpdateInterface
               ? static_cast<const StepUpdate*>(this)
               : nullptr;
  }
  absl::StatusOr<std::vector<nn::NamedTensor>> UpdatedTensors() override {
    return std::vector<nn::NamedTensor>();
  }
  absl::StatusOr<std::vector<double>> StepNumbers(
      const StepContext& /*context*/,
      const std::vector<double>& /*learning_rates*/) override {
    return std::vector<double>();
  }
  void Update(const std::vector<at::Tensor>& /*numbers*/) override {}
  void TookStep() override { calls->push_back("TookStep"); }
};

struct Outcome {
  RunResult result;
  std::vector<double> parameters;
};

Outcome Fit(TrainerParts parts, TrainerOptions options) {
  Problems problems;
  const auto trainer =
      Trainer::Create(std::move(parts), std::move(options), problems);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  Outcome outcome;
  outcome.result = trainer->Fit();
  for (const auto& [name, tensor] : trainer->model().NamedParameters()) {
    const at::Tensor flat = tensor.detach().flatten();
    for (int64_t i = 0; i < flat.numel(); ++i) {
      outcome.parameters.push_back(flat[i].item().toDouble());
    }
  }
  return outcome;
}

TrainerParts With(TrainerParts parts, std::unique_ptr<WholeStepper> stepper,
                  std::vector<std::string>* calls = nullptr) {
  std::vector<RunningPlugin> plugins;
  HookRunner::Order order = {{"WrapForward", {"whole"}}};
  plugins.push_back(
      {.id = "whole", .plugin = PluginPointer(stepper.release())});
  if (calls != nullptr) {
    auto counter = std::make_unique<Counter>();
    counter->calls = calls;
    plugins.push_back(
        {.id = "counter", .plugin = PluginPointer(counter.release())});
    order["AfterOptimizer"] = {"counter"};
  }
  parts.hooks = std::make_unique<HookRunner>(std::move(plugins), order);
  return parts;
}

class EachPart : public testing::TestWithParam<StepPart> {};
INSTANTIATE_TEST_SUITE_P(All, EachPart,
                         testing::Values(StepPart::kNone, StepPart::kForward,
                                         StepPart::kAll));

TEST_P(EachPart, OfAStepInOneCallIsTheSameTraining) {
  const Outcome usual = Fit(LinearParts(32, 8), Options(2));
  auto stepper = std::make_unique<WholeStepper>();
  stepper->part = GetParam();
  const Outcome whole =
      Fit(With(LinearParts(32, 8), std::move(stepper)), Options(2));
  EXPECT_EQ(whole.result.steps, usual.result.steps);
  EXPECT_EQ(whole.parameters, usual.parameters);
  EXPECT_EQ(whole.result.train_metrics, usual.result.train_metrics);
}

TEST(WholeStep, TellsThoseWhoAreAPartOfIt) {
  std::vector<std::string> calls;
  Fit(With(LinearParts(16, 8), std::make_unique<WholeStepper>(), &calls),
      Options(1));
  EXPECT_THAT(calls, ElementsAre("TookStep", "TookStep"));
  calls.clear();
  auto stepper = std::make_unique<WholeStepper>();
  stepper->part = StepPart::kForward;
  Fit(With(LinearParts(16, 8), std::move(stepper), &calls), Options(1));
  EXPECT_THAT(calls, ElementsAre("AfterOptimizer", "AfterOptimizer"));
}

// The fourth sample is not a number: in the first of two batches of eight.
TrainerParts PartsWithNan() {
  TrainerParts parts = LinearParts(16, 8);
  parts.train_loader =
      PointsLoader(16, 8, [](int64_t index, data::Sample& sample) {
        if (index == 3) {
          sample.image.fill_(std::numeric_limits<float>::quiet_NaN());
        }
        return absl::OkStatus();
      });
  return parts;
}

TEST(WholeStep, ThatIsNotFiniteIsSkippedAsAnyOther) {
  const TrainerOptions options =
      Options(1, {{"non_finite", Node::String("skip")}});
  std::vector<std::string> calls;
  const Outcome whole = Fit(
      With(PartsWithNan(), std::make_unique<WholeStepper>(), &calls), options);
  const Outcome usual = Fit(PartsWithNan(), options);
  EXPECT_EQ(whole.result.steps, 1);
  EXPECT_EQ(usual.result.steps, 1);
  EXPECT_EQ(whole.parameters, usual.parameters);
  EXPECT_THAT(calls, ElementsAre("TookStep"));
}

TEST(WholeStep, ThatIsNotFiniteEndsTheRunUnlessItIsToGoOn) {
  const Outcome whole =
      Fit(With(PartsWithNan(), std::make_unique<WholeStepper>()), Options(1));
  EXPECT_EQ(whole.result.exit_reason, ExitReason::kNonFinite);
}

// What blocks a whole step in a run with these keys.
std::string BlockerOf(std::vector<std::pair<std::string, Node>> keys) {
  std::string blocker = "not asked";
  auto stepper = std::make_unique<WholeStepper>();
  stepper->part = StepPart::kNone;
  stepper->blocker = &blocker;
  Fit(With(LinearParts(16, 8), std::move(stepper)),
      Options(1, std::move(keys)));
  return blocker;
}

TEST(WholeStep, IsNotPossibleWhereTheRecipeHasMoreToDo) {
  EXPECT_THAT(BlockerOf({}), IsEmpty());
  EXPECT_EQ(BlockerOf({{"clip_grad_norm", Node::Float(1)}}),
            "training_hyperparams.clip_grad_norm");
  EXPECT_EQ(BlockerOf({{"batch_accumulate", Node::Int(2)}}),
            "training_hyperparams.batch_accumulate");
}

TEST(WholeStep, IsNotPossibleWhereAHookStandsBetween) {
  std::string blocker;
  auto probe = std::make_unique<Probe>();
  probe->wrap_forward = [&](WrapContext& context) {
    blocker = context.StepBlocker();
    return absl::OkStatus();
  };
  TrainerParts parts = LinearParts(16, 8);
  parts.hooks = ProbeRunner(std::move(probe));
  Fit(std::move(parts), Options(1));
  EXPECT_EQ(blocker, "the hook AfterForward of probe");
}

TEST(WholeStep, NamesTheHookThatIsNoUpdate) {
  struct Watcher : public Plugin {};
  std::vector<RunningPlugin> plugins;
  plugins.push_back({.id = "watcher", .plugin = PluginPointer(new Watcher)});
  HookRunner hooks(std::move(plugins), {{"AfterOptimizer", {"watcher"}}});
  const std::unique_ptr<Optimizer> optimizer = PlainSgd({});
  const std::unique_ptr<Loss> loss = PlainLoss();
  TrainingState state;
  state.optimizer = optimizer.get();
  state.loss_function = loss.get();
  PrepareWholeStep(hooks, Options(1).hyperparams, state);
  EXPECT_EQ(state.whole_step.step_blocker,
            "the hook AfterOptimizer of watcher");
  EXPECT_THAT(state.whole_step.loss_blocker, IsEmpty());
  EXPECT_THAT(state.whole_step.updates, IsEmpty());
}

}  // namespace
}  // namespace slipway::loop
