#include "trainer/loop/step.h"

#include <cmath>
#include <limits>

#include "ATen/ops/scalar_tensor.h"
#include "ATen/ops/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/loop/fixtures.h"

namespace slipway::loop {
namespace {

using recipe::Node;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

struct Outcome {
  RunResult result;
  Heard heard;
  std::vector<double> parameters;
};

std::vector<double> Flat(nn::Module& model) {
  std::vector<double> values;
  for (const auto& [name, tensor] : model.NamedParameters()) {
    const at::Tensor flat = tensor.flatten();
    for (int64_t i = 0; i < flat.numel(); ++i) {
      values.push_back(flat[i].item().toDouble());
    }
  }
  return values;
}

Outcome Fit(TrainerParts parts, TrainerOptions options,
            std::unique_ptr<Probe> probe = nullptr) {
  if (probe != nullptr) parts.hooks = ProbeRunner(std::move(probe));
  Problems problems;
  const auto trainer =
      Trainer::Create(std::move(parts), std::move(options), problems);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  Outcome outcome;
  trainer->AddReporter(std::make_unique<Diary>(outcome.heard));
  outcome.result = trainer->Fit();
  outcome.parameters = Flat(trainer->model());
  return outcome;
}

auto Near(double tolerance) {
  return [tolerance](const std::vector<double>& expected) {
    return Pointwise(DoubleNear(tolerance), expected);
  };
}

TrainerOptions Windows(int64_t epochs, int64_t accumulate, const char* how) {
  return Options(epochs, {{"batch_accumulate", Node::Int(accumulate)},
                          {"accumulate", Node::String(how)}});
}

TEST(Step, OfFourBatchesIsThatOfOneLargeBatch) {
  const Outcome large = Fit(LinearParts(32, 32), Options(1));
  const Outcome window = Fit(LinearParts(32, 8), Windows(1, 4, "mean"));
  EXPECT_EQ(window.result.steps, 1);
  EXPECT_THAT(window.parameters, Near(1e-6)(large.parameters));
}

TEST(Step, SumsGradientsWhenAskedTo) {
  const Outcome mean = Fit(LinearParts(32, 8), Windows(1, 4, "mean"));
  Outcome sum = Fit(LinearParts(32, 8), Windows(1, 4, "sum"));
  // From zero, one step: four times the gradient is four times the way.
  for (double& value : sum.parameters) value /= 4;
  EXPECT_THAT(sum.parameters, Near(1e-6)(mean.parameters));
}

// 24 samples are batches of 8: a window of two, then one of one.
TEST(Step, OfAShortLastWindowTakesTheMeanOfWhatItHas) {
  const Outcome run = Fit(LinearParts(24, 8), Windows(1, 2, "mean"));
  EXPECT_EQ(run.result.steps, 2);
  // The same by hand: 16 samples at once, then the last 8.
  TrainerParts parts = LinearParts(24, 8);
  auto probe = std::make_unique<Probe>();
  int64_t batch = 0;
  std::vector<at::Tensor> first;
  probe->before_optimizer = [&](GradientContext& context) -> absl::Status {
    for (auto& [name, parameter] : context.model().NamedParameters()) {
      at::Tensor gradient = parameter.grad();
      if (batch == 0) first.push_back(gradient.clone());
      if (batch == 1) {
        gradient.add_(first[0]).div_(2);
        first.erase(first.begin());
      }
    }
    if (batch++ == 0) context.control().SkipStep("kept for the next");
    return absl::OkStatus();
  };
  const Outcome by_hand = Fit(std::move(parts), Options(1), std::move(probe));
  EXPECT_THAT(run.parameters, Near(1e-6)(by_hand.parameters));
}

TEST(Step, CarriesASumOverIntoTheNextEpoch) {
  // Two epochs of three batches are three windows of two.
  EXPECT_EQ(Fit(LinearParts(24, 8), Windows(2, 2, "sum")).result.steps, 3);
  EXPECT_EQ(Fit(LinearParts(24, 8), Windows(2, 2, "mean")).result.steps, 4);
}

TEST(Step, ClipsTheGradientsNorm) {
  const Outcome run = Fit(LinearParts(8, 8),
                          Options(1, {{"clip_grad_norm", Node::Float(0.01)}}));
  double square = 0;
  for (const double value : run.parameters) square += value * value;
  // From zero, one step at rate 0.5.
  EXPECT_NEAR(std::sqrt(square), 0.5 * 0.01, 1e-6);
}

TEST(Step, ShowsTrueGradientsBeforeClipping) {
  double norm = 0;
  auto probe = std::make_unique<Probe>();
  probe->before_optimizer = [&norm](GradientContext& context) {
    norm = context.model()
               .NamedParameters()[0]
               .second.grad()
               .norm()
               .item()
               .toDouble();
    return absl::OkStatus();
  };
  Fit(LinearParts(8, 8), Options(1, {{"clip_grad_norm", Node::Float(1e-4)}}),
      std::move(probe));
  EXPECT_GT(norm, 1e-3);
}

// --- what is not finite ------------------------------------------------------

// Sample 13 (batch 1 of 8) is not a number.
TrainerParts PoisonedParts(int64_t samples) {
  TrainerParts parts = LinearParts(8, 8);
  parts.train_loader =
      PointsLoader(samples, 8, [](int64_t index, data::Sample& sample) {
        if (index == 13) sample.image.fill_(std::nan(""));
        return absl::OkStatus();
      });
  return parts;
}

TrainerOptions WithPolicy(const char* policy) {
  return Options(1, {{"non_finite", Node::String(policy)}});
}

bool AllFinite(const std::vector<double>& values) {
  for (const double value : values) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

TEST(Step, StopsAtALossThatIsNotFinite) {
  const Outcome run = Fit(PoisonedParts(24), WithPolicy("stop"));
  EXPECT_EQ(run.result.exit_reason, ExitReason::kNonFinite);
  EXPECT_EQ(run.result.exit_code, 1);
  EXPECT_EQ(run.result.steps, 1);
  EXPECT_TRUE(AllFinite(run.parameters));
  ASSERT_TRUE(run.result.error.has_value());
  EXPECT_EQ(run.result.error->kind, "non_finite");
  EXPECT_THAT(run.result.error->detail, HasSubstr("nan"));
  EXPECT_THAT(run.result.error->hint, HasSubstr("clip_grad_norm"));
  EXPECT_THAT(run.heard.EventNames(), ElementsAre("non_finite"));
}

TEST(Step, LeavesOutAStepThatIsNotFinite) {
  const Outcome run = Fit(PoisonedParts(24), WithPolicy("skip"));
  EXPECT_EQ(run.result.exit_code, 0);
  EXPECT_EQ(run.result.steps, 2);
  EXPECT_TRUE(AllFinite(run.parameters));
  EXPECT_THAT(run.heard.EventNames(), ElementsAre("skip_step"));
}

TEST(Step, GoesOnWithWhatIsNotFiniteWhenTold) {
  const Outcome run = Fit(PoisonedParts(24), WithPolicy("continue"));
  EXPECT_EQ(run.result.exit_code, 0);
  EXPECT_EQ(run.result.steps, 3);
  EXPECT_FALSE(AllFinite(run.parameters));
}

TEST(Step, SkipsGradientsThatAreNotFinite) {
  auto probe = std::make_unique<Probe>();
  probe->before_optimizer = [](GradientContext& context) {
    if (context.batch() == 1) {
      context.model().NamedParameters()[0].second.grad().fill_(
          std::numeric_limits<double>::infinity());
    }
    return absl::OkStatus();
  };
  const Outcome run =
      Fit(LinearParts(24, 8), WithPolicy("skip"), std::move(probe));
  EXPECT_EQ(run.result.steps, 2);
  EXPECT_TRUE(AllFinite(run.parameters));
}

TEST(Step, StopsAtANormThatIsNotFinite) {
  auto probe = std::make_unique<Probe>();
  probe->before_optimizer = [](GradientContext& context) {
    context.model().NamedParameters()[0].second.grad().fill_(
        std::numeric_limits<double>::infinity());
    return absl::OkStatus();
  };
  const Outcome run =
      Fit(LinearParts(24, 8), Options(1, {{"clip_grad_norm", Node::Float(1)}}),
          std::move(probe));
  EXPECT_EQ(run.result.exit_reason, ExitReason::kNonFinite);
  EXPECT_TRUE(AllFinite(run.parameters));
}

TEST(Step, ThatIsSkippedMovesNothing) {
  std::vector<std::vector<double>> rates;
  TrainerParts parts = LinearParts(24, 8);
  parts.make_optimizer = [&](std::vector<ParameterGroup> groups, Problems&) {
    return PlainSgd(std::move(groups), &rates);
  };
  class Stairs : public Schedule {
   public:
    double Rate(double, const SchedulePlace& place) const override {
      return 1 + place.batch;
    }
  };
  parts.schedule = std::make_unique<Stairs>();
  auto probe = std::make_unique<Probe>();
  std::vector<bool> taken;
  probe->before_optimizer = [](GradientContext& context) {
    if (context.batch() == 1) context.control().SkipStep("not now");
    return absl::OkStatus();
  };
  probe->after_optimizer = [&](StepContext& context) {
    taken.push_back(context.step_taken());
    return absl::OkStatus();
  };
  const Outcome run = Fit(std::move(parts), Options(1), std::move(probe));
  EXPECT_EQ(run.result.steps, 2);
  EXPECT_THAT(taken, ElementsAre(true, false, true));
  EXPECT_THAT(rates, ElementsAre(ElementsAre(1), ElementsAre(2)));
  ASSERT_EQ(run.heard.EventNames(), std::vector<std::string>{"skip_step"});
  EXPECT_EQ(run.heard.events[0].detail["reason"], "not now");
}

// --- loss scaling ------------------------------------------------------------

// Scales by 1024, and finds an overflow in the unscaling number `overflow_at`.
class FixedScaler : public GradientScaler {
 public:
  FixedScaler(int overflow_at, std::vector<bool>& updates)
      : overflow_at_(overflow_at), updates_(updates) {}
  at::Tensor Scale(const at::Tensor& loss) override { return loss.mul(1024); }
  at::Tensor Unscale(const std::vector<at::Tensor>& gradients) override {
    for (const at::Tensor& gradient : gradients) gradient.div_(1024);
    return at::scalar_tensor(unscaled_++ == overflow_at_ ? 1 : 0);
  }
  void Update(bool found) override { updates_.push_back(found); }
  double scale() const override { return 1024; }
  std::vector<std::pair<std::string, at::Tensor>> State() override {
    return {};
  }

 private:
  int overflow_at_;
  int unscaled_ = 0;
  std::vector<bool>& updates_;
};

std::unique_ptr<Probe> Scales(int overflow_at, std::vector<bool>& updates) {
  auto probe = std::make_unique<Probe>();
  probe->configure = [overflow_at, &updates](ConfigureContext& context) {
    context.SetGradientScaler(
        std::make_unique<FixedScaler>(overflow_at, updates));
    return absl::OkStatus();
  };
  return probe;
}

TEST(Step, IsTheSameUnderALossScale) {
  std::vector<bool> updates;
  const Outcome scaled =
      Fit(LinearParts(24, 8), Options(1), Scales(-1, updates));
  const Outcome plain = Fit(LinearParts(24, 8), Options(1));
  EXPECT_THAT(scaled.parameters, Near(1e-6)(plain.parameters));
  EXPECT_THAT(updates, ElementsAre(false, false, false));
}

TEST(Step, IsLeftOutWhenTheScaleOverflows) {
  std::vector<bool> updates;
  const Outcome run = Fit(LinearParts(24, 8), Options(1), Scales(1, updates));
  EXPECT_EQ(run.result.exit_code, 0);
  EXPECT_EQ(run.result.steps, 2);
  EXPECT_THAT(updates, ElementsAre(false, true, false));
  ASSERT_EQ(run.heard.EventNames(), std::vector<std::string>{"skip_step"});
  EXPECT_THAT(run.heard.events[0].detail["reason"].get<std::string>(),
              HasSubstr("loss scale 1024"));
}

// Rates 0.025, 0.05, 0.075 and 0.1 in the first four steps.
class FourSteps : public Warmup {
 public:
  int64_t epochs() const override { return 0; }
  int64_t steps() const override { return 4; }
  std::optional<double> Rate(std::string_view, double initial_lr,
                             const SchedulePlace& place) const override {
    if (place.global_batch() >= 4) return std::nullopt;
    return initial_lr * static_cast<double>(place.global_batch() + 1) / 4;
  }
};

// O06 of tests/bug_reports.md. The scale never changes: only the step itself
// says that it was skipped. The training ends with its eight attempts.
TEST(Step, WarmsUpInStepsThatWereTaken) {
  std::vector<std::vector<double>> rates;
  TrainerParts parts = LinearParts(64, 8);
  parts.make_optimizer = [&](std::vector<ParameterGroup> groups, Problems&) {
    return PlainSgd(std::move(groups), &rates);
  };
  std::vector<bool> updates;
  auto probe = std::make_unique<Probe>();
  probe->configure = [&](ConfigureContext& context) {
    context.SetGradientScaler(std::make_unique<FixedScaler>(1, updates));
    context.SetWarmup(std::make_unique<FourSteps>());
    return absl::OkStatus();
  };
  std::vector<int64_t> steps;
  probe->after_optimizer = [&](StepContext& context) {
    steps.push_back(context.step());
    return absl::OkStatus();
  };
  const Outcome run =
      Fit(std::move(parts), Options(1, {{"initial_lr", Node::Float(0.1)}}),
          std::move(probe));
  EXPECT_THAT(steps, ElementsAre(1, 1, 2, 3, 4, 5, 6, 7));
  ASSERT_EQ(rates.size(), 7u);
  const double expected[] = {0.025, 0.05, 0.075, 0.1, 0.1, 0.1, 0.1};
  for (size_t i = 0; i < rates.size(); ++i) {
    EXPECT_DOUBLE_EQ(rates[i][0], expected[i]);
  }
  EXPECT_EQ(run.heard.EventNames(), std::vector<std::string>{"skip_step"});
}

TEST(Step, FailsWithoutAnyLoss) {
  TrainerParts parts = LinearParts(8, 8);
  parts.loss = nullptr;
  const Outcome run = Fit(std::move(parts), Options(1));
  EXPECT_EQ(run.result.exit_code, 1);
  EXPECT_THAT(run.result.error->detail, HasSubstr("no loss"));
}

}  // namespace
}  // namespace slipway::loop
