#include "trainer/loop/restoring.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "ATen/ops/full.h"
#include "ATen/ops/zeros.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/loop/fixtures.h"
#include "trainer/loop/stateful.h"

namespace slipway::loop {
namespace {

using recipe::Node;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string EmptyFolder(const std::string& name) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string path =
      absl::StrCat(testing::TempDir(), "/restoring_", test->name(), "_", name);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

Checkpoint Latest(const std::string& folder) {
  absl::StatusOr<Checkpoint> read = ReadCheckpoint(folder + "/ckpt_latest.pth");
  EXPECT_TRUE(read.ok()) << read.status();
  return read.ok() ? *std::move(read) : Checkpoint();
}

std::unique_ptr<Trainer> Created(TrainerParts parts, TrainerOptions options,
                                 const std::string& folder) {
  options.run_dir = folder;
  Problems problems;
  auto trainer =
      Trainer::Create(std::move(parts), std::move(options), problems);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  return trainer;
}

using Extra = std::vector<std::pair<std::string, Node>>;

// A training and how it is cut short.
struct Training {
  Stateful setting = {};
  int64_t epochs = 2;
  Extra hyperparams = {};

  std::unique_ptr<Trainer> Make(const std::string& folder) const {
    return Created(StatefulParts(setting), Options(epochs, hyperparams),
                   folder);
  }

  // To the end.
  RunResult Fit(const std::string& folder, Heard& heard) const {
    const auto trainer = Make(folder);
    trainer->AddReporter(std::make_unique<Diary>(heard));
    return trainer->Fit();
  }

  // From the latest checkpoint in `folder` to the end.
  RunResult Resume(const std::string& folder, Heard& heard) const {
    const auto trainer = Make(folder);
    trainer->AddReporter(std::make_unique<Diary>(heard));
    Problems problems;
    EXPECT_TRUE(trainer->Resume(
        Latest(folder), {.path = folder + "/ckpt_latest.pth"}, problems))
        << FormatProblems(problems);
    EXPECT_EQ(FormatProblems(problems), "");
    return trainer->Fit();
  }

  // Until a signal comes with batch `batch`, counted over all epochs.
  RunResult StopAt(int64_t batch, const std::string& folder,
                   Heard& heard) const {
    Training cut = *this;
    std::atomic<int>* stop = nullptr;
    int64_t batches = 0;
    cut.setting.on_batch = [&](BatchContext&) {
      if (batches++ == batch) *stop = SIGTERM;
    };
    const auto trainer = cut.Make(folder);
    stop = &trainer->stop_signal();
    trainer->AddReporter(std::make_unique<Diary>(heard));
    return trainer->Fit();
  }
};

std::vector<std::pair<int64_t, double>> Losses(const Heard& heard) {
  std::vector<std::pair<int64_t, double>> losses;
  for (const StepReport& step : heard.steps) {
    losses.emplace_back(step.step, step.loss.value_or(-1));
  }
  return losses;
}

NamedValues Results(const Heard& heard, const std::string& split) {
  NamedValues values;
  for (const EpochReport& epoch : heard.epochs) {
    if (epoch.split != split) continue;
    for (const auto& [name, value] : epoch.metrics) {
      values.emplace_back(absl::StrCat(epoch.epoch, " ", name), value);
    }
  }
  return values;
}

// Appends what `more` tells.
void Append(Heard& heard, const Heard& more) {
  heard.steps.insert(heard.steps.end(), more.steps.begin(), more.steps.end());
  heard.epochs.insert(heard.epochs.end(), more.epochs.begin(),
                      more.epochs.end());
}

struct Case {
  const char* name;
  int64_t accumulate = 1;
  const char* how = "mean";
  int workers = 0;
  int64_t spike_window = 0;  // of the rule for loss spikes; 0: there is none
};

class ResumeTest : public testing::TestWithParam<Case> {
 protected:
  Training TheTraining() const {
    Training training;
    training.setting.workers = GetParam().workers;
    training.hyperparams = {
        {"batch_accumulate", Node::Int(GetParam().accumulate)},
        {"accumulate", Node::String(GetParam().how)},
        {"log_every", Node::Int(1)}};
    if (GetParam().spike_window > 0) {
      Node rule = Node::Map();
      rule.Set("window", Node::Int(GetParam().spike_window));
      // None is found: what a rollback returns to is another after a resume.
      rule.Set("deviations", Node::Float(1e6));
      training.hyperparams.emplace_back("loss_spike", std::move(rule));
    }
    return training;
  }
};

// At each of its twelve batches.
TEST_P(ResumeTest, EqualsTheUninterruptedTraining) {
  const Training training = TheTraining();
  const std::string whole = EmptyFolder("whole");
  Heard all;
  const RunResult expected = training.Fit(whole, all);
  for (int64_t batch = 0; batch < 12; ++batch) {
    SCOPED_TRACE(absl::StrCat("stopped with batch ", batch));
    const std::string folder = EmptyFolder("cut");
    Heard before, after;
    EXPECT_EQ(training.StopAt(batch, folder, before).exit_code, 143);
    const RunResult result = training.Resume(folder, after);
    EXPECT_EQ(result.exit_code, 0);
    ExpectSameState(Latest(folder), Latest(whole));
    EXPECT_EQ(result.steps, expected.steps);
    EXPECT_EQ(result.samples, expected.samples);
    Append(before, after);
    EXPECT_EQ(Losses(before), Losses(all));
    EXPECT_EQ(Results(before, "valid"), Results(all, "valid"));
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, ResumeTest,
                         testing::Values(Case{"plain"}, Case{"mean", 4, "mean"},
                                         Case{"sum", 4, "sum"},
                                         Case{"sum_of_five", 5, "sum", 1},
                                         Case{"workers", 1, "mean", 4},
                                         Case{"spikes", 1, "mean", 0, 5}),
                         [](const auto& info) { return info.param.name; });

// O15 of tests/bug_reports.md.
TEST(Resume, ShowsEverySampleOfTheEpochOnce) {
  for (const int workers : {0, 1, 4}) {
    for (const int64_t stop : {16, 21, 31, 32}) {
      SCOPED_TRACE(absl::StrCat(workers, " workers, batch ", stop));
      std::vector<std::vector<int64_t>> shown;
      Training training;
      training.epochs = 3;
      training.setting.samples = 64;
      training.setting.workers = workers;
      std::atomic<int>* flag = nullptr;
      int64_t stop_at = -1;
      training.setting.on_batch = [&](BatchContext& context) {
        if (static_cast<int64_t>(shown.size()) == stop_at) *flag = SIGTERM;
        shown.push_back(context.current_batch().indices);
      };
      Heard heard;
      training.Fit(EmptyFolder("whole"), heard);
      const auto expected = std::exchange(shown, {});

      stop_at = stop;
      const std::string folder = EmptyFolder("cut");
      {
        const auto trainer = training.Make(folder);
        flag = &trainer->stop_signal();
        trainer->Fit();
      }
      ASSERT_EQ(shown.size(), static_cast<size_t>(stop) + 1);
      stop_at = -1;
      training.Resume(folder, heard);
      EXPECT_EQ(shown, expected);
      std::vector<int64_t> second;
      for (size_t i = 16; i < 32; ++i) {
        second.insert(second.end(), shown[i].begin(), shown[i].end());
      }
      std::sort(second.begin(), second.end());
      for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(second[i], i);
    }
  }
}

TEST(Resume, BeginsWithTheValidationThatASignalBrokeOff) {
  Training training;
  const std::string whole = EmptyFolder("whole");
  Heard all;
  training.Fit(whole, all);

  Training cut = training;
  std::atomic<int>* flag = nullptr;
  cut.setting.on_eval_batch = [&](EvalContext&) { *flag = SIGINT; };
  const std::string folder = EmptyFolder("cut");
  Heard before, after;
  {
    const auto trainer = cut.Make(folder);
    flag = &trainer->stop_signal();
    trainer->AddReporter(std::make_unique<Diary>(before));
    EXPECT_EQ(trainer->Fit().exit_code, 130);
  }
  EXPECT_TRUE(Results(before, "valid").empty());
  EXPECT_EQ(Latest(folder).epoch, 0);
  training.Resume(folder, after);
  EXPECT_EQ(after.begins[0].first_epoch, 0);
  EXPECT_EQ(after.begins[0].first_step, Latest(whole).step / 2);
  EXPECT_EQ(Results(after, "train"), Results(all, "train"));
  EXPECT_EQ(Results(after, "valid"), Results(all, "valid"));
  ExpectSameState(Latest(folder), Latest(whole));
}

// A sample that does not come until it is let go.
struct Stall {
  std::atomic<int64_t> index = -1;
  std::atomic<bool> reached = false;
  std::atomic<bool> over = false;

  absl::Status operator()(int64_t sample) {
    if (sample != index) return absl::OkStatus();
    reached = true;
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return absl::OkStatus();
  }
};

TEST(Resume, GoesOnInsideAWindowWhoseDataDidNotCome) {
  for (const char* how : {"mean", "sum"}) {
    Stall stall;
    int64_t fifth = -1;
    Training training;
    // One waits for the data that do not come; the batches before may be the
    // other's.
    training.setting.workers = 2;
    training.hyperparams = {{"batch_accumulate", Node::Int(4)},
                            {"accumulate", Node::String(how)},
                            {"log_every", Node::Int(1)}};
    training.setting.fault = [&](int64_t index, data::Sample&) {
      return stall(index);
    };
    std::atomic<int64_t> batches = 0;
    training.setting.on_batch = [&](BatchContext& context) {
      // The first micro-batch but one of the second window.
      if (batches++ == 5) fifth = context.current_batch().indices[0];
    };
    const std::string whole = EmptyFolder("whole");
    Heard all, before, after;
    training.Fit(whole, all);

    stall.index = fifth;
    const std::string folder = EmptyFolder("cut");
    {
      const auto trainer = training.Make(folder);
      trainer->AddReporter(std::make_unique<Diary>(before));
      std::thread signal([&] {
        // Twelve batches of the whole training, five of this one.
        while (!stall.reached || batches < 17) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        trainer->stop_signal() = SIGTERM;
      });
      EXPECT_EQ(trainer->Fit().exit_code, 143);
      signal.join();
      EXPECT_EQ(Latest(folder).loop.micro, 1);
      EXPECT_FALSE(Latest(folder).grads.empty());
      stall.over = true;
    }
    training.Resume(folder, after);
    ExpectSameState(Latest(folder), Latest(whole));
    Append(before, after);
    EXPECT_EQ(Losses(before), Losses(all));
  }
}

// --- what changes between the two --------------------------------------------

// A latest checkpoint after the first epoch of LinearParts.
std::string Saved(const std::string& name, Extra hyperparams = {}) {
  const std::string folder = EmptyFolder(name);
  Created(LinearParts(24, 8, 8), Options(1, std::move(hyperparams)), folder)
      ->Fit();
  return folder;
}

// O13 of tests/bug_reports.md.
TEST(Resume, TakesTheLearningRateOfTheRecipeAndTellsBoth) {
  const Checkpoint saved = Latest(Saved("first"));
  EXPECT_THAT(saved.schedule, ElementsAre(testing::Pair("default", 0.5)));
  std::vector<std::vector<double>> rates;
  TrainerParts parts = LinearParts(24, 8, 8);
  parts.make_optimizer = [&](std::vector<ParameterGroup> groups, Problems&) {
    return PlainSgd(std::move(groups), &rates);
  };
  const auto trainer =
      Created(std::move(parts), Options(2, {{"initial_lr", Node::Float(0.05)}}),
              EmptyFolder("second"));
  Heard heard;
  trainer->AddReporter(std::make_unique<Diary>(heard));
  Problems problems;
  ASSERT_TRUE(trainer->Resume(saved, {.path = "x.pth"}, problems));
  EXPECT_EQ(FormatProblems(problems),
            "note: the learning rate is the recipe's, not the checkpoint's\n"
            "  detail: of the next step, default: 0.5 -> 0.05\n");
  trainer->Fit();
  EXPECT_THAT(rates, ElementsAre(ElementsAre(0.05), ElementsAre(0.05),
                                 ElementsAre(0.05)));
  ASSERT_EQ(heard.events[0].name, "resume");
  EXPECT_EQ(heard.events[0].detail.dump(),
            R"({"path":"x.pth","lr":{"default":[0.5,0.05]}})");
}

TEST(Resume, ToMoreEpochsFollowsThePlanOfTheLongerTraining) {
  class Falling : public Schedule {
   public:
    double Rate(double initial, const SchedulePlace& place) const override {
      return initial * (1 - static_cast<double>(place.position()) /
                                static_cast<double>(place.length()));
    }
  };
  const auto with_schedule = [](TrainerParts parts) {
    parts.schedule = std::make_unique<Falling>();
    return parts;
  };
  const std::string folder = EmptyFolder("first");
  Created(with_schedule(LinearParts(24, 8, 8)), Options(1), folder)->Fit();
  const auto longer =
      Created(with_schedule(LinearParts(24, 8, 8)), Options(4), folder);
  Heard heard;
  longer->AddReporter(std::make_unique<Diary>(heard));
  Problems problems;
  ASSERT_TRUE(longer->Resume(Latest(folder), {.path = "x.pth"}, problems));
  EXPECT_THAT(FormatProblems(problems),
              HasSubstr("default: 0.166667 -> 0.375"));
  longer->Fit();
  // Step 3 of 12, as if it had been meant to be so long from the start.
  EXPECT_EQ(heard.begins[0].first_step, 3);
  EXPECT_EQ(longer->lr_plan().At(3)[0], 0.375);
}

TEST(Resume, SaysThatNothingIsLeft) {
  const std::string folder = Saved("first");
  const auto trainer = Created(LinearParts(24, 8, 8), Options(1), folder);
  Problems problems;
  ASSERT_TRUE(trainer->Resume(Latest(folder), {.path = "x.pth"}, problems));
  EXPECT_THAT(FormatProblems(problems), HasSubstr("1 of 1 epochs are done"));
  const RunResult result = trainer->Fit();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.steps, 3);
  EXPECT_EQ(result.latest_checkpoint, "ckpt_latest.pth");
  EXPECT_EQ(result.best_checkpoint, "ckpt_best.pth");
  EXPECT_EQ(result.resumed_from->path, "x.pth");
}

TEST(Resume, CountsTheSecondsOfBothRuns) {
  Checkpoint saved = Latest(Saved("first"));
  EXPECT_GT(saved.loop.seconds, 0);
  saved.loop.seconds = 1000;
  const auto trainer =
      Created(LinearParts(24, 8, 8), Options(2), EmptyFolder("second"));
  Problems problems;
  ASSERT_TRUE(trainer->Resume(saved, {.path = "x.pth"}, problems));
  const RunResult result = trainer->Fit();
  EXPECT_GT(result.seconds, 1000);
  EXPECT_EQ(result.samples, 48);
}

// --- what does not fit -------------------------------------------------------

std::string Refusal(const Checkpoint& checkpoint, ResumeOptions options = {},
                    int64_t batch_size = 8) {
  options.path = "x.pth";
  const auto trainer = Created(LinearParts(24, batch_size, 8), Options(2),
                               EmptyFolder("refused"));
  Problems problems;
  EXPECT_FALSE(trainer->Resume(checkpoint, options, problems));
  return FormatProblems(problems);
}

TEST(Resume, ListsAllThatDoesNotFit) {
  Checkpoint saved = Latest(Saved("first"));
  saved.net = {{"weihgt", at::zeros({2, 2})}, {"bias", at::zeros({3})}};
  EXPECT_EQ(Refusal(saved),
            "error: the training cannot be resumed\n"
            "  detail: x.pth does not fit this training:\n"
            "          the model:\n"
            "            missing (1): weight (found weihgt)\n"
            "            unexpected (1): weihgt\n"
            "            misshapen (1): bias is [3], expected [2]\n");
}

TEST(Resume, NeverStartsFromNothingSilently) {
  Checkpoint saved = Latest(Saved("first"));
  saved.net = {{"else", at::zeros({2, 2})}};
  EXPECT_THAT(Refusal(saved, {.strict = false}), HasSubstr("missing (2)"));
}

TEST(Resume, TakesWhatFitsWhenItNeedNotBeStrict) {
  Checkpoint saved = Latest(Saved("first"));
  saved.net = {{"weight", at::full({2, 2}, 3.0)}, {"bias", at::zeros({3})}};
  saved.extra_nets = {{"ema_net", saved.net}};
  const auto trainer =
      Created(LinearParts(24, 8, 8), Options(2), EmptyFolder("second"));
  Problems problems;
  ASSERT_TRUE(trainer->Resume(saved, {.path = "x", .strict = false}, problems));
  const std::string text = FormatProblems(problems);
  EXPECT_THAT(text, HasSubstr("warning: not all of the checkpoint fits"));
  EXPECT_THAT(text, HasSubstr("bias is [3], expected [2]"));
  EXPECT_THAT(text, HasSubstr("\"ema_net\" does not fit and is left out"));
  EXPECT_TRUE(
      trainer->model().StateDict()[0].second.eq(3).all().item().toBool());
}

TEST(Resume, RefusesAPlaceWhereNoBatchBegins) {
  Checkpoint saved = Latest(Saved("first"));
  saved.sampler.samples_done = 8;
  EXPECT_THAT(Refusal(saved, {}, 6),
              HasSubstr("stands after 8 samples of epoch 1, where no batch of "
                        "6 begins"));
}

TEST(Resume, RefusesAStateOfANewerPlugin) {
  Heard heard;
  Training training;
  const std::string folder = EmptyFolder("first");
  training.Fit(folder, heard);
  Checkpoint saved = Latest(folder);
  ASSERT_EQ(saved.plugins.size(), 1u);
  saved.plugins[0].second.version = 7;
  const auto trainer = training.Make(folder);
  Problems problems;
  EXPECT_FALSE(trainer->Resume(saved, {.path = "x.pth"}, problems));
  EXPECT_THAT(FormatProblems(problems),
              HasSubstr("the state of plugin \"stateful\" has version 7, the "
                        "plugin here reads up to 1"));
}

TEST(Resume, TellsOfStateThatNobodyWants) {
  Heard heard;
  Checkpoint saved = Latest(Saved("first"));
  saved.plugins = {{"swa", {.version = 1, .state = {}}}};
  saved.scaler = {{"scale", at::full({}, 2.0)}};
  const auto trainer =
      Created(LinearParts(24, 8, 8), Options(2), EmptyFolder("second"));
  Problems problems;
  ASSERT_TRUE(trainer->Resume(saved, {.path = "x"}, problems));
  const std::string text = FormatProblems(problems);
  EXPECT_THAT(text, HasSubstr("state of \"swa\", which this run does not use"));
  EXPECT_THAT(text, HasSubstr("loss scale is of no use here"));
  EXPECT_THAT(text, Not(HasSubstr("error")));
}

// SuperGradients' files: no place in the data, no random state, an optimizer
// whose state has numbers.
TEST(Resume, GoesOnWithTheNextEpochOfAnotherSystemsFile) {
  Checkpoint saved = Latest(Saved("first"));
  Checkpoint foreign;
  foreign.from_slipway = false;
  foreign.net = saved.net;
  foreign.epoch = 1;
  const auto trainer =
      Created(LinearParts(24, 8, 8), Options(2), EmptyFolder("second"));
  Heard heard;
  trainer->AddReporter(std::make_unique<Diary>(heard));
  Problems problems;
  ASSERT_TRUE(trainer->Resume(foreign, {.path = "x"}, problems));
  EXPECT_THAT(FormatProblems(problems),
              HasSubstr("the optimizer starts afresh"));
  EXPECT_THAT(FormatProblems(problems), HasSubstr("goes on with epoch 1"));
  EXPECT_EQ(trainer->Fit().steps, 6);
  EXPECT_EQ(heard.begins[0].first_epoch, 1);
  EXPECT_EQ(heard.begins[0].first_step, 3);
}

}  // namespace
}  // namespace slipway::loop
