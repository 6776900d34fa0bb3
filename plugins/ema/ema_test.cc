#include "plugins/ema/ema.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/full.h"
#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "plugins/ema/test_net.h"
#include "trainer/plugin/context.h"
#include "trainer/plugin/training_state.h"

namespace slipway::ema {
namespace {

using recipe::Node;

// A run of 2 epochs of 5 batches, with a step after each.
struct Session {
  explicit Session(Decay decay) : ema(decay) {
    state.model = &net;
    state.max_epochs = 2;
    state.batches_per_epoch = 5;
    state.total_steps = 10;
    state.report = [this](Problem problem) { problems.push_back(problem); };
  }

  void Begin() {
    FitContext context(state);
    ASSERT_TRUE(ema.FitBegin(context).ok());
  }
  // After batch `batch` of epoch `epoch`, which left the weight at `weight`.
  void Step(int64_t epoch, int64_t batch, double weight, bool taken = true) {
    net.Set(weight, 0, 0);
    state.epoch = epoch;
    state.batch_index = batch;
    state.step_taken = taken;
    StepContext context(state);
    ASSERT_TRUE(ema.AfterOptimizer(context).ok());
  }
  // The weight that an evaluation of `split` sees.
  double Evaluated(const std::string& split) {
    state.split = split;
    EvalContext context(state);
    EXPECT_TRUE(ema.EvalBegin(context).ok());
    const double weight = net.weight().mean().item<double>();
    while (!state.scopes.empty()) state.scopes.pop_back();
    return weight;
  }

  TestNet net;
  TrainingState state;
  Ema ema;
  Problems problems;
};

constexpr Decay kHalf = {.decay = 0.5, .type = DecayType::kConstant};

TEST(Ema, EvaluatesByTheAverageAndTrainsByTheWeights) {
  Session run(kHalf);
  run.Begin();
  run.Step(0, 0, 3);
  EXPECT_EQ(run.Evaluated("valid"), 2);
  EXPECT_EQ(run.Evaluated("test"), 2);
  EXPECT_EQ(run.net.weight().mean().item<double>(), 3);
}

TEST(Ema, IsTheSameAsAPartOfACompiledStep) {
  const Decay decay = {.decay = 0.9, .type = DecayType::kExp, .beta = 2};
  Session eager(decay);
  Session graph(decay);
  eager.Begin();
  graph.Begin();
  auto* const update = const_cast<StepUpdate*>(
      static_cast<const StepUpdate*>(graph.ema.Query(kStepUpdateInterface)));
  ASSERT_NE(update, nullptr);
  for (int step = 0; step < 3; ++step) {
    eager.Step(0, step, 2 + step);
    graph.net.Set(2 + step, 0, 0);
    const auto numbers = update->StepNumbers(StepContext(graph.state), {});
    ASSERT_TRUE(numbers.ok());
    update->Update({at::full({}, numbers->at(0), at::kFloat)});
    update->TookStep();
  }
  EXPECT_FLOAT_EQ(graph.Evaluated("valid"), eager.Evaluated("valid"));
}

TEST(Ema, IsNoPartOfAGraphWhereItMovesInSkippedSteps) {
  Session run(kHalf);
  run.state.supergradients_compat = true;
  run.Begin();
  EXPECT_EQ(run.ema.UpdatedTensors().status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(run.ema.Query("slipway.step_update/99"), nullptr);
}

TEST(Ema, LeavesTheMeanOfCheckpointsAlone) {
  Session run(kHalf);
  run.Begin();
  run.Step(0, 0, 3);
  EXPECT_EQ(run.Evaluated("average"), 3);
}

TEST(Ema, DoesNothingInAnEvaluationWithoutTraining) {
  Session run(kHalf);
  EXPECT_EQ(run.Evaluated("valid"), 1);
}

TEST(Ema, CountsStepsThatWereTaken) {
  const Decay decay = {.decay = 0.9, .type = DecayType::kExp, .beta = 2};
  Session run(decay);
  run.Begin();
  run.Step(0, 0, 2);
  run.Step(0, 1, 99, /*taken=*/false);
  run.Step(0, 2, 4);
  double expected = 1;
  expected += (1 - decay.At(1, 10)) * (2 - expected);
  expected += (1 - decay.At(2, 10)) * (4 - expected);
  EXPECT_NEAR(run.Evaluated("valid"), expected, 1e-6);
}

TEST(Ema, CountsBatchesAsSuperGradientsDoesIfAskedTo) {
  const Decay decay = {.decay = 0.9, .type = DecayType::kExp, .beta = 2};
  Session run(decay);
  run.state.supergradients_compat = true;
  run.Begin();
  run.Step(0, 3, 2);
  run.Step(1, 2, 4, /*taken=*/false);
  double expected = 1;
  expected += (1 - decay.At(4, 10)) * (2 - expected);
  expected += (1 - decay.At(8, 10)) * (4 - expected);
  EXPECT_NEAR(run.Evaluated("valid"), expected, 1e-6);
}

TEST(Ema, StoresTheAverageBesideTheWeights) {
  Session run(kHalf);
  run.Begin();
  run.Step(0, 0, 3);
  CheckpointContext context(run.state);
  ASSERT_TRUE(run.ema.BeforeSave(context).ok());
  const auto* tensors = context.FindTensors("ema_net");
  ASSERT_NE(tensors, nullptr);
  ASSERT_EQ(tensors->size(), 3u);
  EXPECT_EQ((*tensors)[0].first, "weight");
  EXPECT_EQ((*tensors)[0].second.mean().item<double>(), 2);
}

TEST(Ema, GoesOnFromACheckpointAsIfNothingHadHappened) {
  const Decay decay = {.decay = 0.9, .type = DecayType::kThreshold};
  Session straight(decay);
  straight.Begin();
  for (int i = 0; i < 3; ++i) straight.Step(0, i, i);
  CheckpointContext saving(straight.state);
  ASSERT_TRUE(straight.ema.BeforeSave(saving).ok());
  const auto saved = straight.ema.SaveState();
  ASSERT_TRUE(saved.ok());
  // What a file keeps.
  std::vector<nn::NamedTensor> tensors = *saving.FindTensors("ema_net");
  for (auto& [name, tensor] : tensors) tensor = tensor.contiguous().clone();
  straight.Step(0, 3, 8);

  Session resumed(decay);
  CheckpointContext loading(resumed.state);
  loading.SetTensors("ema_net", tensors);
  ASSERT_TRUE(resumed.ema.LoadState(1, *saved).ok());
  ASSERT_TRUE(resumed.ema.AfterLoad(loading).ok());
  resumed.Begin();
  resumed.Step(0, 3, 8);
  EXPECT_EQ(resumed.Evaluated("valid"), straight.Evaluated("valid"));
  EXPECT_TRUE(resumed.problems.empty());
}

// O01 of tests/bug_reports.md: a thousand updates towards w = t / 1000, then
// one towards 5 after a restart.
double AverageAfterARestart(const Decay& decay, int64_t total_steps,
                            int64_t steps_after) {
  Session before(decay);
  before.state.total_steps = total_steps;
  before.net.Set(0, 0, 0);
  before.Begin();
  for (int t = 1; t <= 1000; ++t) before.Step(0, 0, t / 1000.0);
  CheckpointContext saving(before.state);
  EXPECT_TRUE(before.ema.BeforeSave(saving).ok());
  const auto saved = before.ema.SaveState();

  Session after(decay);
  after.state.total_steps = steps_after;
  CheckpointContext loading(after.state);
  loading.SetTensors("ema_net", *saving.FindTensors("ema_net"));
  EXPECT_TRUE(after.ema.LoadState(1, *saved).ok());
  EXPECT_TRUE(after.ema.AfterLoad(loading).ok());
  after.Begin();
  after.Step(0, 0, 5);
  return after.Evaluated("valid");
}

TEST(Ema, KeepsItsRampOverARestart) {
  const Decay ramp = {.decay = 0.9999, .type = DecayType::kExp, .beta = 15};
  EXPECT_NEAR(ramp.At(1001, 30000), 0.393733, 1e-6);
  EXPECT_NEAR(AverageAfterARestart(ramp, 30000, 30000), 3.424812, 1e-5);
  const Decay threshold = {.decay = 0.9999, .type = DecayType::kThreshold};
  EXPECT_NEAR(threshold.At(1001, 0), 0.991098, 1e-6);
  EXPECT_LT(AverageAfterARestart(threshold, 0, 0), 1.1);
}

// Its ramp is that of the longer training from then on.
TEST(Ema, FollowsTheRampOfATrainingThatWasMadeLonger) {
  const Decay ramp = {.decay = 0.9999, .type = DecayType::kExp, .beta = 15};
  const double before = AverageAfterARestart(ramp, 30000, 30000);
  const double longer = AverageAfterARestart(ramp, 30000, 60000);
  // Less is kept: 5 counts for more.
  EXPECT_GT(longer, before);
  EXPECT_NEAR(5 - (5 - before) * ramp.At(1001, 60000) / ramp.At(1001, 30000),
              longer, 1e-5);
}

TEST(Ema, TakesTheStepsForItsUpdatesInAFileOfAnotherSystem) {
  const Decay ramp = {.decay = 0.9, .type = DecayType::kThreshold};
  Session run(ramp);
  run.state.step = 40;
  CheckpointContext loading(run.state);
  loading.SetTensors("ema_net", run.net.StateDict());
  ASSERT_TRUE(run.ema.AfterLoad(loading).ok());
  run.Begin();
  run.Step(0, 0, 2);
  EXPECT_NEAR(run.Evaluated("valid"), 2 - ramp.At(41, 0), 1e-6);
}

TEST(Ema, GoesBackToACheckpointInTheMiddleOfATraining) {
  Session run(kHalf);
  run.Begin();
  run.Step(0, 0, 3);
  CheckpointContext context(run.state);
  ASSERT_TRUE(run.ema.BeforeSave(context).ok());
  const auto saved = run.ema.SaveState();
  std::vector<nn::NamedTensor> tensors = *context.FindTensors("ema_net");
  for (auto& [name, tensor] : tensors) tensor = tensor.clone();
  run.Step(0, 1, 99);
  context.SetTensors("ema_net", tensors);
  ASSERT_TRUE(run.ema.LoadState(1, *saved).ok());
  ASSERT_TRUE(run.ema.AfterLoad(context).ok());
  EXPECT_EQ(run.Evaluated("valid"), 2);
}

TEST(Ema, StartsAnewFromACheckpointWithoutAnAverage) {
  Session run(kHalf);
  CheckpointContext context(run.state);
  ASSERT_TRUE(run.ema.AfterLoad(context).ok());
  run.net.Set(6, 0, 0);
  run.Begin();
  EXPECT_EQ(run.Evaluated("valid"), 6);
  EXPECT_EQ(FormatProblems(run.problems),
            "warning: the checkpoint has no averaged weights (ema_net)\n"
            "  detail: the average starts anew at the weights that were "
            "loaded\n");
}

TEST(Ema, RefusesAnAverageOfAnotherModel) {
  Session run(kHalf);
  CheckpointContext loading(run.state);
  loading.SetTensors("ema_net", {{"weight", at::full({1}, 1.0)}});
  ASSERT_TRUE(run.ema.AfterLoad(loading).ok());
  FitContext context(run.state);
  EXPECT_EQ(run.ema.FitBegin(context).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Ema, RefusesAStateItDoesNotKnow) {
  Session run(kHalf);
  PluginState state;
  state.values = Node::Map();
  EXPECT_EQ(run.ema.LoadState(1, state).message(),
            "error: the saved state of ema needs a value for \"updates\"\n");
}

Node Config(std::vector<std::pair<std::string, Node>> entries) {
  Node config = Node::Map();
  for (auto& [key, value] : entries) config.Set(key, std::move(value));
  return config;
}

// The weight after one step of ten, from 1 to 2, under a configuration.
double AfterOneStep(const Node& config) {
  auto plugin = Ema::Create(config);
  EXPECT_TRUE(plugin.ok()) << plugin.status();
  Session run(kHalf);
  FitContext begin(run.state);
  EXPECT_TRUE((*plugin)->FitBegin(begin).ok());
  run.net.Set(2, 0, 0);
  run.state.step_taken = true;
  StepContext step(run.state);
  EXPECT_TRUE((*plugin)->AfterOptimizer(step).ok());
  EvalContext evaluation(run.state);
  EXPECT_TRUE((*plugin)->EvalBegin(evaluation).ok());
  const double weight = run.net.weight().mean().item<double>();
  run.state.scopes.clear();
  return weight;
}

TEST(EmaConfig, HasSuperGradientsDefaultsAndTypes) {
  EXPECT_NEAR(AfterOneStep(Node::Map()), 2 - Decay().At(1, 10), 1e-6);
  EXPECT_NEAR(AfterOneStep(Config({{"decay", Node::Float(0.25)},
                                   {"decay_type", Node::String("constant")}})),
              1.75, 1e-6);
  EXPECT_NEAR(AfterOneStep(Config({{"decay_type", Node::String("threshold")}})),
              2 - 2.0 / 11, 1e-6);
  EXPECT_NEAR(AfterOneStep(Config({{"beta", Node::Int(0)}})), 2, 1e-6);
}

TEST(EmaConfig, TellsAllThatIsWrong) {
  const Node config = Config({{"decay", Node::Int(2)},
                              {"decay_type", Node::String("exponential")},
                              {"bta", Node::Int(3)}});
  EXPECT_EQ(Ema::Create(config).status(),
            absl::InvalidArgumentError(
                "error: \"decay\" of plugin ema is 2\n"
                "  detail: expected a number from 0.0 to 1.0, found integer "
                "2\n"
                "error: \"decay_type\" of plugin ema is \"exponential\"\n"
                "  detail: expected one of constant, threshold, exp, found "
                "text \"exponential\"\n"
                "error: unknown parameter \"bta\" of plugin ema\n"
                "  hint:   did you mean \"beta\"?\n"));
}

}  // namespace
}  // namespace slipway::ema
