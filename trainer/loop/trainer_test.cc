#include "trainer/loop/trainer.h"

#include <cmath>
#include <csignal>

#include "ATen/ops/stack.h"
#include "ATen/ops/zeros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/loop/fixtures.h"

namespace slipway::loop {
namespace {

using recipe::Node;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;

struct Outcome {
  std::unique_ptr<Trainer> trainer;
  RunResult result;
  Heard heard;
};

// Trains to the end with a probe in the plugins' place.
Outcome Fit(TrainerParts parts, TrainerOptions options,
            std::unique_ptr<Probe> probe = nullptr) {
  if (probe != nullptr) parts.hooks = ProbeRunner(std::move(probe));
  Problems problems;
  Outcome outcome;
  outcome.trainer =
      Trainer::Create(std::move(parts), std::move(options), problems);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  outcome.trainer->AddReporter(std::make_unique<Diary>(outcome.heard));
  outcome.result = outcome.trainer->Fit();
  return outcome;
}

std::string SetUpProblems(TrainerParts parts, TrainerOptions options) {
  Problems problems;
  EXPECT_EQ(Trainer::Create(std::move(parts), std::move(options), problems),
            nullptr);
  return FormatProblems(problems);
}

TEST(Trainer, LearnsARealTask) {
  const Outcome run = Fit(LinearParts(256, 16, 128), Options(10));
  EXPECT_EQ(run.result.exit_code, 0);
  EXPECT_EQ(run.result.exit_reason, ExitReason::kDone);
  ASSERT_TRUE(run.result.best.has_value());
  EXPECT_EQ(run.result.best->name, "Accuracy");
  EXPECT_GT(run.result.best->value, 0.95);
}

TEST(Trainer, CountsEpochsStepsAndSamples) {
  const Outcome run = Fit(LinearParts(20, 8, 8), Options(3));
  EXPECT_EQ(run.result.epochs, 3);
  EXPECT_EQ(run.result.steps, 9);
  EXPECT_EQ(run.result.samples, 60);
  EXPECT_GT(run.result.seconds, 0);
  EXPECT_GT(run.result.peak_rss_bytes, 1 << 20);
}

TEST(Trainer, TellsWhatIsDone) {
  const Outcome run =
      Fit(LinearParts(20, 8, 8), Options(2, {{"log_every", Node::Int(4)}}));
  ASSERT_EQ(run.heard.begins.size(), 1u);
  EXPECT_EQ(run.heard.begins[0].batches_per_epoch, 3);
  EXPECT_EQ(run.heard.begins[0].train_samples, 20);
  EXPECT_EQ(run.heard.begins[0].parameters, 6);
  EXPECT_EQ(run.heard.begins[0].metric_to_watch, "Accuracy");
  std::vector<int64_t> steps, logged;
  for (const StepReport& step : run.heard.steps) {
    steps.push_back(step.step);
    if (step.logged) logged.push_back(step.step);
    EXPECT_EQ(step.loss.has_value(), step.logged);
  }
  EXPECT_THAT(steps, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(logged, ElementsAre(0, 4));
  EXPECT_NEAR(*run.heard.steps[0].loss, std::log(2.0), 1e-6);
  EXPECT_EQ(run.heard.steps[0].learning_rates[0].second, 0.5);
  ASSERT_EQ(run.heard.ends.size(), 1u);
  EXPECT_EQ(run.heard.ends[0].result["exit_reason"], "done");
}

TEST(Trainer, ReportsLossAndMetricsOfEachSplit) {
  const Outcome run = Fit(LinearParts(20, 8, 8), Options(1));
  ASSERT_EQ(run.heard.epochs.size(), 2u);
  EXPECT_EQ(run.heard.epochs[0].split, "train");
  EXPECT_EQ(run.heard.epochs[1].split, "valid");
  for (const EpochReport& epoch : run.heard.epochs) {
    ASSERT_EQ(epoch.metrics.size(), 2u) << epoch.split;
    EXPECT_EQ(epoch.metrics[0].first, "PlainLoss");
    EXPECT_EQ(epoch.metrics[1].first, "Accuracy");
    EXPECT_EQ(epoch.step, 3);
  }
  EXPECT_TRUE(run.heard.epochs[1].is_best);
}

TEST(Trainer, CallsHooksInTheContractsOrder) {
  std::vector<std::string> calls;
  auto probe = std::make_unique<Probe>();
  probe->calls = &calls;
  Fit(LinearParts(24, 8, 8), Options(1, {{"batch_accumulate", Node::Int(2)}}),
      std::move(probe));
  EXPECT_THAT(
      calls,
      ElementsAre("Configure", "CreateModel", "TransformModel",
                  "BuildOptimizer", "WrapForward", "FitBegin", "EpochBegin",
                  // A window of two micro-batches.
                  "BatchFetched", "StepBegin", "MicroBegin", "BeforeForward",
                  "AfterForward", "ComputeLoss", "AfterLoss", "BeforeBackward",
                  "AfterBackward", "MicroEnd", "BatchFetched", "MicroBegin",
                  "BeforeForward", "AfterForward", "ComputeLoss", "AfterLoss",
                  "BeforeBackward", "AfterBackward", "MicroEnd",
                  "BeforeOptimizer", "AfterOptimizer", "StepEnd",
                  // The epoch's last, shorter one.
                  "BatchFetched", "StepBegin", "MicroBegin", "BeforeForward",
                  "AfterForward", "ComputeLoss", "AfterLoss", "BeforeBackward",
                  "AfterBackward", "MicroEnd", "BeforeOptimizer",
                  "AfterOptimizer", "StepEnd", "EvalBegin", "EvalBatchBegin",
                  "EvalForward", "EvalBatchEnd", "EvalEnd", "EpochEnd",
                  "FitEnd", "Close"));
}

TEST(Trainer, ShowsHooksWhereItStands) {
  std::vector<std::string> places;
  auto probe = std::make_unique<Probe>();
  probe->after_optimizer = [&](StepContext& context) {
    places.push_back(std::to_string(context.epoch()) + "." +
                     std::to_string(context.batch()) + "." +
                     std::to_string(context.step()));
    EXPECT_EQ(context.steps_per_epoch(), 2);
    EXPECT_EQ(context.total_steps(), 4);
    EXPECT_EQ(context.batches_per_epoch(), 3);
    EXPECT_TRUE(context.step_taken());
    return absl::OkStatus();
  };
  Fit(LinearParts(24, 8), Options(2, {{"batch_accumulate", Node::Int(2)}}),
      std::move(probe));
  EXPECT_THAT(places, ElementsAre("0.1.1", "0.2.2", "1.1.3", "1.2.4"));
}

TEST(Trainer, LetsEpochEndSeeTheEpochsResults) {
  std::vector<double> values;
  auto probe = std::make_unique<Probe>();
  probe->epoch_end = [&](FitContext& context) {
    values.push_back(context.Metric("valid", "Accuracy"));
    values.push_back(context.Metric("train", "PlainLoss"));
    values.push_back(context.Metric("train", "Nothing"));
    return absl::OkStatus();
  };
  const Outcome run = Fit(LinearParts(16, 8, 8), Options(1), std::move(probe));
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0], run.heard.epochs[1].metrics[1].second);
  EXPECT_EQ(values[1], run.heard.epochs[0].metrics[0].second);
  EXPECT_TRUE(std::isnan(values[2]));
}

TEST(Trainer, LimitsBatches) {
  TrainerParts parts = LinearParts(80, 8, 80);
  int64_t evaluated = 0;
  auto probe = std::make_unique<Probe>();
  probe->eval_forward = [&](EvalContext&) {
    ++evaluated;
    return absl::OkStatus();
  };
  const Outcome run = Fit(std::move(parts),
                          Options(2, {{"max_train_batches", Node::Int(3)},
                                      {"max_valid_batches", Node::Int(2)}}),
                          std::move(probe));
  EXPECT_EQ(run.result.steps, 6);
  EXPECT_EQ(evaluated, 4);
}

TEST(Trainer, ValidatesWhenItIsDue) {
  const Outcome run = Fit(LinearParts(8, 8, 8),
                          Options(5, {{"run_validation_freq", Node::Int(2)}}));
  std::vector<int64_t> validated;
  for (const EpochReport& epoch : run.heard.epochs) {
    if (epoch.split == "valid") validated.push_back(epoch.epoch);
  }
  EXPECT_THAT(validated, ElementsAre(1, 3, 4));
}

TEST(Trainer, UsesTheRatesOfItsPlan) {
  std::vector<std::vector<double>> rates;
  TrainerParts parts = LinearParts(16, 8);
  parts.make_optimizer = [&](std::vector<ParameterGroup> groups, Problems&) {
    return PlainSgd(std::move(groups), &rates);
  };
  class Halving : public Schedule {
   public:
    double Rate(double initial, const SchedulePlace& place) const override {
      return initial / (1 + place.epoch);
    }
  };
  parts.schedule = std::make_unique<Halving>();
  const Outcome run = Fit(std::move(parts), Options(2));
  EXPECT_THAT(rates, ElementsAre(ElementsAre(0.5), ElementsAre(0.5),
                                 ElementsAre(0.25), ElementsAre(0.25)));
  EXPECT_THAT(run.trainer->group_names(), ElementsAre("default"));
}

// --- what plugins change -----------------------------------------------------

TEST(Trainer, WrapsForwardInTrainingOnlyTheFirstInnermost) {
  std::string order;
  auto probe = std::make_unique<Probe>();
  probe->wrap_forward = [&](WrapContext& context) {
    for (const char name : {'a', 'b'}) {
      context.Wrap([&order, name](const auto& next, const Value& input) {
        order += name;
        return next(input);
      });
    }
    return absl::OkStatus();
  };
  Fit(LinearParts(8, 8, 8), Options(1), std::move(probe));
  EXPECT_EQ(order, "ba");
}

TEST(Trainer, TakesAPluginsLoss) {
  TrainerParts parts = LinearParts(8, 8);
  parts.loss = nullptr;
  auto probe = std::make_unique<Probe>();
  probe->compute_loss = [](OutputContext& context) {
    context.SetLoss(
        {.total = context.prediction().tensor().sum().add(3), .items = {}});
    return absl::OkStatus();
  };
  const Outcome run = Fit(std::move(parts), Options(1), std::move(probe));
  EXPECT_EQ(run.result.exit_code, 0);
  EXPECT_EQ(run.result.train_metrics[0].second, 3.0);
}

TEST(Trainer, LogsWhatAPluginTells) {
  auto probe = std::make_unique<Probe>();
  probe->fit_begin = [](FitContext& context) {
    Node detail = Node::Map();
    detail.Set("graphs", Node::Int(2));
    context.Tell("compile_ready", detail);
    context.SetResult("compile", detail);
    return absl::OkStatus();
  };
  const Outcome run = Fit(LinearParts(8, 8), Options(1), std::move(probe));
  EXPECT_THAT(run.heard.EventNames(), Contains("compile_ready"));
  EXPECT_EQ(ToJson(run.result)["compile"]["graphs"], 2);
}

TEST(Trainer, TakesAPluginsPredictionInEvaluation) {
  auto probe = std::make_unique<Probe>();
  probe->eval_forward = [](EvalContext& context) {
    // Always right.
    const at::Tensor target = context.current_batch().target.tensor();
    context.prediction() =
        at::stack({target.neg().add(1), target}, 1).to(at::kFloat);
    return absl::OkStatus();
  };
  const Outcome run = Fit(LinearParts(8, 8, 64), Options(1), std::move(probe));
  EXPECT_EQ(run.result.best->value, 1.0);
}

TEST(Trainer, EvaluatesWithoutGradientsInEvaluationMode) {
  auto probe = std::make_unique<Probe>();
  int checks = 0;
  probe->eval_begin = [&](EvalContext& context) {
    ++checks;
    EXPECT_FALSE(context.model().training());
    EXPECT_EQ(context.split(), "valid");
    return absl::OkStatus();
  };
  probe->eval_end = [&](EvalContext& context) {
    ++checks;
    EXPECT_FALSE(context.prediction().tensor().requires_grad());
    return absl::OkStatus();
  };
  const Outcome run = Fit(LinearParts(8, 8, 8), Options(2), std::move(probe));
  EXPECT_EQ(checks, 4);
  EXPECT_TRUE(run.trainer->model().training());
}

// --- scopes ------------------------------------------------------------------

class NotedScope : public Scope {
 public:
  NotedScope(std::string& log, char name) : log_(log), name_(name) {
    log_ += name;
  }
  ~NotedScope() override { log_ += static_cast<char>(std::toupper(name_)); }

 private:
  std::string& log_;
  char name_;
};

std::unique_ptr<Probe> EntersScopes(std::string& log) {
  auto probe = std::make_unique<Probe>();
  probe->before_forward = [&log](ForwardContext& context) {
    context.Enter(std::make_unique<NotedScope>(log, 'a'));
    context.Enter(std::make_unique<NotedScope>(log, 'b'));
    return absl::OkStatus();
  };
  probe->eval_begin = [&log](EvalContext& context) {
    context.Enter(std::make_unique<NotedScope>(log, 'e'));
    return absl::OkStatus();
  };
  return probe;
}

TEST(Trainer, EndsScopesLastInFirstOutWithTheirPhase) {
  std::string log;
  std::unique_ptr<Probe> probe = EntersScopes(log);
  probe->after_loss = [&log](OutputContext&) {
    log += '.';
    return absl::OkStatus();
  };
  probe->before_backward = [&log](GradientContext&) {
    log += '!';
    return absl::OkStatus();
  };
  Fit(LinearParts(8, 8, 8), Options(1), std::move(probe));
  EXPECT_EQ(log, "ab.BA!eE");
}

TEST(Trainer, EndsScopesOnErrorsToo) {
  std::string log;
  std::unique_ptr<Probe> probe = EntersScopes(log);
  probe->after_loss = [](OutputContext&) -> absl::Status {
    throw std::runtime_error("thrown in a hook");
  };
  const Outcome run = Fit(LinearParts(8, 8), Options(1), std::move(probe));
  EXPECT_EQ(run.result.exit_code, 1);
  EXPECT_EQ(log, "abBA");
}

// --- control -----------------------------------------------------------------

TEST(Trainer, StopsAtTheStepWhereAHookAsks) {
  auto probe = std::make_unique<Probe>();
  probe->after_optimizer = [](StepContext& context) {
    if (context.step() == 4) context.control().RequestStop("good enough");
    return absl::OkStatus();
  };
  const Outcome run = Fit(LinearParts(24, 8, 8), Options(9), std::move(probe));
  EXPECT_EQ(run.result.exit_reason, ExitReason::kEarlyStop);
  EXPECT_EQ(run.result.exit_code, 0);
  EXPECT_EQ(run.result.steps, 4);
  EXPECT_EQ(run.result.epochs, 1);
}

TEST(Trainer, FinishesTheWindowBeforeItStops) {
  auto probe = std::make_unique<Probe>();
  probe->step_begin = [](BatchContext& context) {
    context.control().RequestStop("enough");
    return absl::OkStatus();
  };
  const Outcome run =
      Fit(LinearParts(32, 8), Options(1, {{"batch_accumulate", Node::Int(3)}}),
          std::move(probe));
  EXPECT_EQ(run.result.steps, 1);
  EXPECT_EQ(run.result.samples, 24);
}

TEST(Trainer, StopsOnASignalAtTheNextStep) {
  auto probe = std::make_unique<Probe>();
  std::atomic<int>* flag = nullptr;
  probe->step_begin = [&flag](BatchContext& context) {
    if (context.step() == 2) *flag = SIGTERM;
    return absl::OkStatus();
  };
  TrainerParts parts = LinearParts(80, 8, 8);
  parts.hooks = ProbeRunner(std::move(probe));
  Problems problems;
  const auto trainer = Trainer::Create(std::move(parts), Options(1), problems);
  flag = &trainer->stop_signal();
  const RunResult result = trainer->Fit();
  EXPECT_EQ(result.exit_reason, ExitReason::kSignal);
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_EQ(result.steps, 3);
}

TEST(Trainer, EvaluatesInTheMiddleOfAnEpochWhenAsked) {
  auto probe = std::make_unique<Probe>();
  probe->after_optimizer = [](StepContext& context) {
    if (context.step() == 1) context.control().RequestEvaluate();
    return absl::OkStatus();
  };
  const Outcome run = Fit(LinearParts(24, 8, 8), Options(1), std::move(probe));
  ASSERT_EQ(run.heard.epochs.size(), 3u);
  EXPECT_EQ(run.heard.epochs[0].split, "valid");
  EXPECT_EQ(run.heard.epochs[0].step, 1);
  EXPECT_EQ(run.result.steps, 3);
}

// --- failures ----------------------------------------------------------------

TEST(Trainer, EndsWithTheHooksErrorAndTellsThePlugins) {
  std::vector<std::string> calls;
  auto probe = std::make_unique<Probe>();
  probe->calls = &calls;
  probe->epoch_begin = [](FitContext&) {
    return absl::InternalError("no luck");
  };
  const Outcome run = Fit(LinearParts(8, 8), Options(1), std::move(probe));
  EXPECT_EQ(run.result.exit_code, 1);
  EXPECT_EQ(run.result.exit_reason, ExitReason::kError);
  ASSERT_TRUE(run.result.error.has_value());
  EXPECT_EQ(run.result.error->kind, "hook");
  EXPECT_EQ(run.result.error->hook, "EpochBegin");
  EXPECT_THAT(FormatProblem(*run.result.error), HasSubstr("no luck"));
  EXPECT_THAT(calls, Contains("OnFailure"));
  EXPECT_EQ(calls.back(), "Close");
}

TEST(Trainer, TurnsWhatTensorsThrowIntoAnError) {
  const auto wide = [](int64_t, data::Sample& sample) {
    sample.image = at::zeros({3});
    return absl::OkStatus();
  };
  TrainerParts parts = LinearParts(8, 8);
  parts.train_loader = PointsLoader(8, 8, wide);
  const Outcome run = Fit(std::move(parts), Options(1));
  EXPECT_EQ(run.result.exit_code, 1);
  ASSERT_TRUE(run.result.error.has_value());
  EXPECT_THAT(FormatProblem(*run.result.error), HasSubstr("8x3 and 2x2"));
  EXPECT_EQ(run.result.error->step, 0);
}

// Asks for more than any machine has.
class GreedyLoss : public Loss {
 public:
  absl::StatusOr<LossOutput> Compute(const Value& prediction,
                                     const Value& target) override {
    at::zeros({int64_t{1} << 44});
    return LossOutput();
  }
};

TEST(Trainer, SaysWhatToChangeWhenMemoryRunsOut) {
  TrainerParts parts = LinearParts(64, 16);
  parts.loss = std::make_unique<GreedyLoss>();
  const Outcome run = Fit(std::move(parts), Options(1));
  EXPECT_EQ(run.result.exit_code, 1);
  ASSERT_TRUE(run.result.error.has_value());
  const std::string text = FormatProblem(*run.result.error);
  EXPECT_THAT(text, HasSubstr("memory ran out in epoch 0, batch 0, step 0"));
  EXPECT_THAT(text, HasSubstr("a tensor of 70368.74 GB was asked for"));
  EXPECT_THAT(text, HasSubstr("try batch_size 8 instead of 16"));
  EXPECT_THAT(text, HasSubstr("--dry_run tells the largest batch that fits"));
}

TEST(Trainer, TellsWhereAnEpochsTimeWent) {
  const Outcome run = Fit(LinearParts(64, 16, 16), Options(2));
  ASSERT_EQ(run.heard.epochs.size(), 4u);
  for (const EpochReport& epoch : run.heard.epochs) {
    std::vector<std::string> phases;
    for (const auto& [phase, seconds] : epoch.time.seconds) {
      phases.push_back(phase);
      EXPECT_GT(seconds, 0) << phase;
    }
    if (epoch.split != "train") {
      EXPECT_THAT(phases, IsEmpty());
      continue;
    }
    EXPECT_THAT(phases, IsSupersetOf({"data", "forward", "loss", "backward",
                                      "optimizer", "metrics", "other"}));
    EXPECT_THAT(epoch.time.shares, HasSubstr("compute "));
  }
}

TEST(Trainer, TellsTheRatesOfEachEpochsFirstStep) {
  const Outcome run =
      Fit(LinearParts(64, 16), Options(2, {{"log_every", Node::Int(1000)}}));
  std::vector<int64_t> told;
  for (const StepReport& step : run.heard.steps) {
    if (!step.learning_rates.empty()) told.push_back(step.step);
  }
  EXPECT_THAT(told, ElementsAre(0, 4));
}

TEST(Trainer, EndsWithTheLoadersError) {
  const auto bad = [](int64_t index, data::Sample&) {
    return index == 13 ? absl::DataLossError("broken.png: not an image")
                       : absl::OkStatus();
  };
  TrainerParts parts = LinearParts(8, 8);
  parts.train_loader = PointsLoader(24, 8, bad);
  const Outcome run = Fit(std::move(parts), Options(1));
  EXPECT_EQ(run.result.exit_code, 1);
  EXPECT_EQ(run.result.steps, 1);
  ASSERT_TRUE(run.result.error.has_value());
  EXPECT_EQ(run.result.error->kind, "data");
  EXPECT_THAT(run.result.error->detail, HasSubstr("broken.png"));
}

TEST(Trainer, RefusesAMetricToWatchThatNobodyMeasures) {
  const std::string text = SetUpProblems(
      LinearParts(8, 8, 8),
      Options(1,
              {{"metric_to_watch", Node::String("Acuracy", {"x.yaml", 4})}}));
  EXPECT_THAT(text, HasSubstr("nothing is called \"Acuracy\""));
  EXPECT_THAT(text, HasSubstr("did you mean \"Accuracy\"?"));
  EXPECT_THAT(text, HasSubstr("x.yaml:4"));
}

TEST(Trainer, RefusesALoaderWithoutABatch) {
  TrainerParts parts = LinearParts(8, 8);
  data::LoaderParts loader;
  loader.dataset = Points(7);
  data::LoaderOptions options;
  options.batch_size = 8;
  options.drop_last = true;
  parts.train_loader =
      std::make_unique<data::Loader>(std::move(loader), options);
  EXPECT_THAT(SetUpProblems(std::move(parts), Options(1)),
              HasSubstr("7 samples make no batch of 8"));
}

TEST(Trainer, RefusesAValidationWithoutABatch) {
  TrainerParts parts = LinearParts(8, 8);
  parts.valid_loader = PointsLoader(0, 8);
  EXPECT_THAT(SetUpProblems(std::move(parts), Options(1)),
              HasSubstr("the validation loader has no batch\n"
                        "  detail: 0 samples make no batch of 8"));
}

TEST(Trainer, WatchesTheLossWhereNothingElseIsMeasured) {
  TrainerParts parts = LinearParts(64, 8, 8);
  parts.valid_metrics.clear();
  const Outcome run = Fit(std::move(parts), Options(3));
  ASSERT_TRUE(run.result.best.has_value());
  EXPECT_EQ(run.result.best->name, "PlainLoss");
  EXPECT_FALSE(run.heard.begins[0].greater_is_better);
  EXPECT_EQ(run.result.best->epoch, 2);
}

TEST(Trainer, ClosesPluginsWhenSetUpFails) {
  std::vector<std::string> calls;
  auto probe = std::make_unique<Probe>();
  probe->calls = &calls;
  probe->build_optimizer = [](OptimizerContext&) {
    return absl::InvalidArgumentError("not these groups");
  };
  TrainerParts parts = LinearParts(8, 8);
  parts.hooks = ProbeRunner(std::move(probe));
  EXPECT_THAT(SetUpProblems(std::move(parts), Options(1)),
              HasSubstr("not these groups"));
  EXPECT_THAT(calls, ElementsAre("Configure", "CreateModel", "TransformModel",
                                 "BuildOptimizer", "OnFailure", "Close"));
}

TEST(Trainer, GivesTheSameRunForTheSameSeed) {
  const Outcome a = Fit(LinearParts(64, 8, 8), Options(2));
  const Outcome b = Fit(LinearParts(64, 8, 8), Options(2));
  EXPECT_EQ(a.result.train_metrics, b.result.train_metrics);
  EXPECT_EQ(a.result.valid_metrics, b.result.valid_metrics);
}

}  // namespace
}  // namespace slipway::loop
