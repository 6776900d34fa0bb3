#include "trainer/loop/rollback.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <set>

#include "ATen/core/grad_mode.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/loop/fixtures.h"
#include "trainer/loop/state_hash.h"
#include "trainer/loop/stateful.h"

namespace slipway::loop {
namespace {

using recipe::Node;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

using Fault = std::function<absl::Status(int64_t, data::Sample&)>;
using Extra = std::vector<std::pair<std::string, Node>>;

// Shows the samples that it was given, in that order, in every epoch.
class Listed : public data::Sampler {
 public:
  explicit Listed(std::vector<int64_t> order) : order_(std::move(order)) {}
  int64_t size() const override { return static_cast<int64_t>(order_.size()); }
  std::vector<int64_t> Order(int64_t) const override { return order_; }

 private:
  std::vector<int64_t> order_;
};

constexpr int64_t kBatch = 4;

// Batches of 4 samples in order, without those in `left_out`.
std::unique_ptr<data::Loader> Batches(int64_t batches,
                                      const std::set<int64_t>& left_out,
                                      Fault fault = nullptr) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < batches * kBatch; ++i) {
    if (left_out.count(i / kBatch) == 0) order.push_back(i);
  }
  data::LoaderParts parts;
  parts.dataset = Points(batches * kBatch, std::move(fault));
  parts.sampler = std::make_unique<Listed>(std::move(order));
  data::LoaderOptions options;
  options.batch_size = kBatch;
  return std::make_unique<data::Loader>(std::move(parts), options);
}

// Makes every sample of the batches `bad` a nan.
Fault Nans(std::set<int64_t> bad) {
  return [bad = std::move(bad)](int64_t index, data::Sample& sample) {
    if (bad.count(index / kBatch) > 0) sample.image.fill_(std::nan(""));
    return absl::OkStatus();
  };
}

struct Outcome {
  RunResult result;
  Heard heard;
  Checkpoint state;  // the last one

  std::vector<EventReport> Rollbacks() const {
    std::vector<EventReport> found;
    for (const EventReport& event : heard.events) {
      if (event.name == "rollback") found.push_back(event);
    }
    return found;
  }
};

Outcome Fit(TrainerParts parts, TrainerOptions options) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = absl::StrCat(test->test_suite_name(), "_", test->name());
  std::replace(name.begin(), name.end(), '/', '_');
  options.run_dir = absl::StrCat(testing::TempDir(), "/", name);
  std::filesystem::remove_all(options.run_dir);
  std::filesystem::create_directories(options.run_dir);
  const std::string latest = options.run_dir + "/ckpt_latest.pth";
  Problems problems;
  const auto trainer =
      Trainer::Create(std::move(parts), std::move(options), problems);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  Outcome outcome;
  trainer->AddReporter(std::make_unique<Diary>(outcome.heard));
  outcome.result = trainer->Fit();
  absl::StatusOr<Checkpoint> state = ReadCheckpoint(latest);
  if (state.ok()) outcome.state = *std::move(state);
  return outcome;
}

TrainerOptions WithRollback(int64_t epochs, Extra extra = {}) {
  extra.emplace_back("non_finite", Node::String("rollback"));
  return Options(epochs, std::move(extra));
}

bool IsFinite(const Checkpoint& state) {
  bool finite = !state.net.empty();
  VisitTensors(state, [&finite](const std::string&, const at::Tensor& tensor) {
    finite = finite && tensor.isfinite().all().item().toBool();
  });
  return finite;
}

// --- one bad batch -----------------------------------------------------------

struct OneBatchCase {
  const char* name;
  int64_t accumulate;
  const char* how;
  int64_t epochs;
  int64_t batches;
  std::set<int64_t> bad;
  // The batches of the steps that they spoil.
  std::set<int64_t> left_out;
};

class OneBatch : public testing::TestWithParam<OneBatchCase> {};

// Net with BatchNorm and dropout, momentum, a loss scale, a plugin with an
// average: all of it is as if the batches had never been.
TEST_P(OneBatch, LeavesNoTrace) {
  const OneBatchCase& c = GetParam();
  const Extra windows = {{"batch_accumulate", Node::Int(c.accumulate)},
                         {"accumulate", Node::String(c.how)}};
  TrainerParts parts = StatefulParts({.skipped_step = -1});
  parts.train_loader = Batches(c.batches, {}, Nans(c.bad));
  const Outcome run = Fit(std::move(parts), WithRollback(c.epochs, windows));
  parts = StatefulParts({.skipped_step = -1});
  parts.train_loader = Batches(c.batches, c.left_out);
  const Outcome without =
      Fit(std::move(parts), WithRollback(c.epochs, windows));

  EXPECT_EQ(run.result.exit_code, 0);
  EXPECT_FALSE(run.Rollbacks().empty());
  EXPECT_TRUE(without.Rollbacks().empty());
  EXPECT_EQ(run.result.steps, without.result.steps);
  // The place counts what was shown, too.
  EXPECT_THAT(Differences(HashState(run.state), HashState(without.state)),
              ElementsAre("place"));
}

INSTANTIATE_TEST_SUITE_P(
    Rollback, OneBatch,
    testing::Values(OneBatchCase{"first", 1, "mean", 2, 6, {0}, {0}},
                    OneBatchCase{"middle", 1, "mean", 2, 6, {3}, {3}},
                    OneBatchCase{"last", 1, "mean", 2, 6, {5}, {5}},
                    OneBatchCase{"two_apart", 1, "mean", 2, 6, {1, 4}, {1, 4}},
                    OneBatchCase{"window_first", 2, "mean", 2, 6, {2}, {2, 3}},
                    OneBatchCase{"window_second", 2, "mean", 2, 6, {3}, {2, 3}},
                    OneBatchCase{"short_window", 2, "mean", 2, 5, {4}, {4}},
                    OneBatchCase{"sum", 2, "sum", 2, 6, {3}, {2, 3}}),
    [](const auto& info) { return info.param.name; });

TEST(Rollback, TellsWhatItDid) {
  TrainerParts parts = LinearParts(8, kBatch);
  parts.train_loader = Batches(6, {}, Nans({3}));
  const Outcome run = Fit(std::move(parts), WithRollback(2));
  const std::vector<EventReport> rollbacks = run.Rollbacks();
  ASSERT_EQ(rollbacks.size(), 2u);
  EXPECT_EQ(rollbacks[1].epoch, 1);
  EXPECT_EQ(rollbacks[1].step, 8);
  EXPECT_EQ(rollbacks[1].detail,
            (nlohmann::ordered_json{{"reason", "the loss is nan"},
                                    {"to_step", 8},
                                    {"batches", {3, 3}},
                                    {"try", 1},
                                    {"rollbacks", 2}}));
  EXPECT_EQ(run.result.steps, 10);
}

TEST(Rollback, TakesBackGradientsThatAreNotFinite) {
  const auto run_with = [](const std::set<int64_t>& left_out, int64_t bad) {
    TrainerParts parts = LinearParts(8, kBatch);
    parts.train_loader = Batches(6, left_out);
    auto probe = std::make_unique<Probe>();
    probe->before_optimizer = [bad](GradientContext& context) {
      if (context.batch() == bad) {
        context.model().NamedParameters()[0].second.grad().fill_(
            std::numeric_limits<double>::infinity());
      }
      return absl::OkStatus();
    };
    parts.hooks = ProbeRunner(std::move(probe));
    return Fit(std::move(parts), WithRollback(1));
  };
  const Outcome run = run_with({}, 2);
  ASSERT_EQ(run.Rollbacks().size(), 1u);
  EXPECT_EQ(run.Rollbacks()[0].detail["reason"],
            "the gradients are not finite");
  EXPECT_THAT(
      Differences(HashState(run.state), HashState(run_with({2}, -1).state)),
      ElementsAre("place"));
}

TEST(Rollback, TellsHooksThatTheStepWasNotTaken) {
  std::vector<bool> taken;
  auto probe = std::make_unique<Probe>();
  probe->after_optimizer = [&taken](StepContext& context) {
    taken.push_back(context.step_taken());
    return absl::OkStatus();
  };
  TrainerParts parts = LinearParts(8, kBatch);
  parts.train_loader = Batches(3, {}, Nans({1}));
  parts.hooks = ProbeRunner(std::move(probe));
  Fit(std::move(parts), WithRollback(1));
  EXPECT_THAT(taken, ElementsAre(true, false, true));
}

// A window of three is carried over into the second epoch, whose first batch
// is bad: that epoch's means begin anew all the same.
TEST(Rollback, LeavesAnotherEpochsMeansAlone) {
  TrainerParts parts = LinearParts(8, kBatch);
  parts.train_loader = Batches(4, {}, Nans({0}));
  parts.train_metrics[0]->Reset();
  const Outcome run = Fit(
      std::move(parts), WithRollback(2, {{"batch_accumulate", Node::Int(3)},
                                         {"accumulate", Node::String("sum")}}));
  ASSERT_EQ(run.result.exit_code, 0);
  // Windows: 0 1 2, bad; 3 | 0 1, bad; 2 3, which is left open.
  EXPECT_EQ(run.result.steps, 0);
  EXPECT_EQ(run.Rollbacks().size(), 2u);
  for (const EpochReport& epoch : run.heard.epochs) {
    EXPECT_TRUE(std::isfinite(epoch.metrics[0].second)) << epoch.epoch;
  }
}

// --- a bad state -------------------------------------------------------------

// Spoils a parameter when `step` steps were taken, the first `times` times.
std::unique_ptr<Probe> Spoiler(int64_t step, int times) {
  auto probe = std::make_unique<Probe>();
  probe->after_optimizer = [step, times](StepContext& context) mutable {
    if (context.step() != step || times-- <= 0) return absl::OkStatus();
    const at::NoGradGuard no_gradients;
    context.model().NamedParameters()[0].second.fill_(std::nan(""));
    return absl::OkStatus();
  };
  return probe;
}

TrainerParts WithCallback(TrainerParts parts, std::unique_ptr<Probe> probe) {
  RunningPlugin callback;
  callback.id = "callback";
  callback.plugin = PluginPointer(probe.release());
  if (parts.hooks == nullptr) {
    parts.hooks = std::make_unique<HookRunner>(std::vector<RunningPlugin>(),
                                               HookRunner::Order());
  }
  parts.hooks->AddCallback(std::move(callback));
  return parts;
}

// Spoiled after five steps; the sixth is bad, and six batches are left.
TEST(Rollback, ReturnsToTheKeptStateWhereTheStateIsBad) {
  TrainerParts parts = LinearParts(8, kBatch);
  parts.train_loader = Batches(12, {});
  const Outcome run =
      Fit(WithCallback(std::move(parts), Spoiler(5, 1)), WithRollback(1));
  ASSERT_EQ(run.Rollbacks().size(), 1u);
  EXPECT_EQ(run.Rollbacks()[0].detail["to_step"], 0);
  EXPECT_EQ(run.result.steps, 6);

  parts = LinearParts(8, kBatch);
  parts.train_loader = Batches(12, {0, 1, 2, 3, 4, 5});
  const Outcome rest = Fit(std::move(parts), WithRollback(1));
  for (const std::string& part :
       Differences(HashState(run.state), HashState(rest.state))) {
    EXPECT_FALSE(absl::StartsWith(part, "net/")) << part;
  }
}

TEST(Rollback, ReturnsAllOfTheKeptState) {
  TrainerParts parts = StatefulParts({.skipped_step = -1});
  parts.train_loader = Batches(12, {});
  const Outcome run =
      Fit(WithCallback(std::move(parts), Spoiler(5, 1)), WithRollback(1));
  EXPECT_EQ(run.result.steps, 6);
  EXPECT_TRUE(IsFinite(run.state));
  // The scale doubles every third step from 16; the average counts steps.
  EXPECT_EQ(run.state.scaler[0].second.item().toDouble(), 64);
  EXPECT_EQ(run.state.plugins[0].second.state.values.Find("updates")->AsInt(),
            6);
  EXPECT_EQ(run.state.schedule,
            (std::vector<std::pair<std::string, double>>{{"default", 0.5}}));
}

TEST(Rollback, KeepsAStateEveryHundredSteps) {
  TrainerParts parts = LinearParts(8, kBatch);
  parts.train_loader = Batches(160, {});
  const Outcome run =
      Fit(WithCallback(std::move(parts), Spoiler(150, 1)), WithRollback(1));
  ASSERT_EQ(run.Rollbacks().size(), 1u);
  EXPECT_EQ(run.Rollbacks()[0].detail["to_step"], 100);
  EXPECT_EQ(run.Rollbacks()[0].step, 150);
  EXPECT_EQ(run.result.steps, 109);
}

// The state is finite, but nothing that follows is good.
TEST(Rollback, GoesFurtherBackTheSecondTime) {
  TrainerParts parts = LinearParts(8, kBatch);
  parts.train_loader = Batches(9, {}, Nans({3, 4, 5}));
  const Outcome run = Fit(std::move(parts), WithRollback(1));
  std::vector<int64_t> to_steps;
  for (const EventReport& event : run.Rollbacks()) {
    to_steps.push_back(event.detail["to_step"]);
  }
  EXPECT_THAT(to_steps, ElementsAre(3, 0, 0));
  EXPECT_EQ(run.result.steps, 3);
  EXPECT_TRUE(IsFinite(run.state));
}

// --- giving up ---------------------------------------------------------------

void ExpectGivenUp(const Outcome& run, const std::string& detail) {
  EXPECT_EQ(run.result.exit_code, 1);
  EXPECT_EQ(run.result.exit_reason, ExitReason::kNonFinite);
  ASSERT_TRUE(run.result.error.has_value());
  EXPECT_EQ(run.result.error->kind, "non_finite");
  EXPECT_EQ(run.result.error->detail, detail);
  EXPECT_THAT(run.result.error->hint, HasSubstr("initial_lr"));
  EXPECT_EQ(run.heard.EventNames().back(), "non_finite");
}

TEST(Rollback, GivesUpWhenNothingHelps) {
  std::set<int64_t> bad;
  for (int64_t i = 2; i < 40; ++i) bad.insert(i);
  TrainerParts parts = LinearParts(8, kBatch);
  parts.train_loader = Batches(40, {}, Nans(bad));
  const Outcome run = Fit(std::move(parts), WithRollback(1));
  EXPECT_EQ(run.Rollbacks().size(), 10u);
  ExpectGivenUp(run, "the loss is nan; 10 rollbacks in a row did not help");
}

// Each time the training gets as far as the step that spoils it, and no
// further: the good steps before it are no progress.
TEST(Rollback, GivesUpWhenItMakesNoHeadway) {
  TrainerParts parts = LinearParts(8, kBatch);
  parts.train_loader = Batches(100, {});
  const Outcome run =
      Fit(WithCallback(std::move(parts), Spoiler(3, 100)), WithRollback(1));
  EXPECT_EQ(run.Rollbacks().size(), 10u);
  ExpectGivenUp(run, "the loss is nan; 10 rollbacks in a row did not help");
}

TEST(Rollback, CountsTriesAnewAfterAGoodStep) {
  std::set<int64_t> bad;
  for (int64_t i = 1; i < 60; i += 2) bad.insert(i);
  TrainerParts parts = LinearParts(8, kBatch);
  parts.train_loader = Batches(60, {}, Nans(bad));
  const Outcome run = Fit(std::move(parts), WithRollback(1));
  EXPECT_EQ(run.result.exit_code, 0);
  EXPECT_EQ(run.Rollbacks().size(), 30u);
  EXPECT_EQ(run.result.steps, 30);
}

TEST(Rollback, GivesUpWhereTheFirstStateIsBad) {
  TrainerParts parts = LinearParts(8, kBatch);
  {
    const at::NoGradGuard no_gradients;
    parts.model->NamedParameters()[0].second.fill_(std::nan(""));
  }
  const Outcome run = Fit(std::move(parts), WithRollback(1));
  EXPECT_TRUE(run.Rollbacks().empty());
  ExpectGivenUp(run, "the loss is nan; there is no good state to return to");
}

// --- loss spikes -------------------------------------------------------------

// Samples of the batches `bad` lie on the wrong side, a hundred times as far
// out.
Fault Lies(std::set<int64_t> bad) {
  return [bad = std::move(bad)](int64_t index, data::Sample& sample) {
    if (bad.count(index / kBatch) > 0) sample.image.mul_(-100);
    return absl::OkStatus();
  };
}

TrainerOptions WithSpikes(int64_t window) {
  Node spike = Node::Map();
  spike.Set("window", Node::Int(window));
  return Options(1, {{"loss_spike", std::move(spike)}});
}

TEST(LossSpikes, AreTakenBackAsIfTheBatchHadNeverBeen) {
  const auto run_with = [](const std::set<int64_t>& left_out) {
    TrainerParts parts = LinearParts(8, kBatch);
    parts.train_loader = Batches(20, left_out, Lies({12}));
    return Fit(std::move(parts), WithSpikes(8));
  };
  const Outcome run = run_with({});
  ASSERT_EQ(run.Rollbacks().size(), 1u);
  EXPECT_EQ(run.Rollbacks()[0].step, 12);
  EXPECT_THAT(run.Rollbacks()[0].detail["reason"].get<std::string>(),
              AllOf(StartsWith("the loss is "),
                    HasSubstr("the median of the last 8 steps")));
  EXPECT_EQ(run.result.steps, 19);
  const Outcome without = run_with({12});
  EXPECT_TRUE(without.Rollbacks().empty());
  EXPECT_THAT(Differences(HashState(run.state), HashState(without.state)),
              ElementsAre("place"));
}

TEST(LossSpikes, AreNoneUnlessTheRecipeAsks) {
  TrainerParts parts = LinearParts(8, kBatch);
  parts.train_loader = Batches(20, {}, Lies({12}));
  const Outcome run = Fit(std::move(parts), WithRollback(1));
  EXPECT_TRUE(run.Rollbacks().empty());
  EXPECT_EQ(run.result.steps, 20);
}

TEST(LossSpikes, DoNotChangeWhatIsNotFinite) {
  TrainerParts parts = LinearParts(8, kBatch);
  parts.train_loader = Batches(20, {}, Nans({12}));
  const Outcome run = Fit(std::move(parts), WithSpikes(8));
  EXPECT_EQ(run.result.exit_reason, ExitReason::kNonFinite);
  EXPECT_TRUE(run.Rollbacks().empty());
}

}  // namespace
}  // namespace slipway::loop
