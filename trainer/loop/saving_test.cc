#include "trainer/loop/saving.h"

#include <csignal>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/atomic_file.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/loop/fixtures.h"

namespace slipway::loop {
namespace {

using recipe::Node;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::string EmptyFolder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = testing::TempDir() + "/saving_" + test->name();
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  // The checkpoint before the latest is hidden.
  std::erase_if(names, [](const auto& name) { return name.front() == '.'; });
  return names;
}

RunResult Fit(TrainerParts parts, TrainerOptions options,
              const std::string& folder, std::unique_ptr<Probe> probe = nullptr,
              Heard* heard = nullptr) {
  if (probe != nullptr) parts.hooks = ProbeRunner(std::move(probe));
  options.run_dir = folder;
  Problems problems;
  const auto trainer =
      Trainer::Create(std::move(parts), std::move(options), problems);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  if (heard != nullptr) trainer->AddReporter(std::make_unique<Diary>(*heard));
  return trainer->Fit();
}

// The optimizer's step after which the latest checkpoint is asked for.
std::unique_ptr<Probe> SaveAfterStep(int64_t step) {
  auto probe = std::make_unique<Probe>();
  probe->after_optimizer = [step](StepContext& context) {
    if (context.step() == step) context.control().RequestSave();
    return absl::OkStatus();
  };
  return probe;
}

TEST(Saving, KeepsLatestBestAndListedEpochs) {
  const std::string folder = EmptyFolder();
  const RunResult result =
      Fit(LinearParts(64, 8, 64),
          Options(3, {{"save_ckpt_epoch_list", Node::List({Node::Int(2)})}}),
          folder);
  EXPECT_THAT(FilesIn(folder),
              UnorderedElementsAre("ckpt_latest.pth", "ckpt_best.pth",
                                   "ckpt_epoch_2.pth", "average_model.pth",
                                   "averaging"));
  EXPECT_EQ(result.latest_checkpoint, "ckpt_latest.pth");
  EXPECT_EQ(result.best_checkpoint, "ckpt_best.pth");
}

TEST(Saving, PutsTheTrainingIntoTheFile) {
  const std::string folder = EmptyFolder();
  const RunResult result = Fit(LinearParts(64, 8, 64), Options(3), folder);
  const absl::StatusOr<Checkpoint> read =
      ReadCheckpoint(folder + "/ckpt_latest.pth");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->epoch, 3);
  EXPECT_EQ(read->step, 24);
  ASSERT_EQ(read->net.size(), 2u);
  EXPECT_EQ(read->net[0].first, "weight");
  EXPECT_EQ(read->acc, result.valid_metrics[1].second);
  EXPECT_EQ(read->metrics.at("train").at("PlainLoss"),
            result.train_metrics[0].second);
  ASSERT_TRUE(read->best.has_value());
  EXPECT_EQ(read->best->name, "Accuracy");
  EXPECT_EQ(read->rng.size(), 1u);
  EXPECT_EQ(read->sampler.epoch, 3);
  EXPECT_EQ(read->sampler.samples_done, 0);
}

TEST(Saving, WritesWhereASignalStoppedIt) {
  const std::string folder = EmptyFolder();
  TrainerParts parts = LinearParts(64, 8, 8);
  auto probe = std::make_unique<Probe>();
  std::atomic<int>* flag = nullptr;
  probe->step_begin = [&flag](BatchContext& context) {
    if (context.step() == 2) *flag = SIGINT;
    return absl::OkStatus();
  };
  parts.hooks = ProbeRunner(std::move(probe));
  TrainerOptions options = Options(2);
  options.run_dir = folder;
  Problems problems;
  const auto trainer =
      Trainer::Create(std::move(parts), std::move(options), problems);
  flag = &trainer->stop_signal();
  EXPECT_EQ(trainer->Fit().exit_code, 130);
  const absl::StatusOr<Checkpoint> read =
      ReadCheckpoint(folder + "/ckpt_latest.pth");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->epoch, 0);
  EXPECT_EQ(read->step, 3);
  EXPECT_EQ(read->sampler.samples_done, 24);
  EXPECT_EQ(read->meters.size(), 1u);
}

TEST(Saving, KeepsGradientsOfAWindowThatIsCarriedOver) {
  const std::string folder = EmptyFolder();
  Fit(LinearParts(24, 8),
      Options(1, {{"batch_accumulate", Node::Int(2)},
                  {"accumulate", Node::String("sum")}}),
      folder);
  const absl::StatusOr<Checkpoint> read =
      ReadCheckpoint(folder + "/ckpt_latest.pth");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->step, 1);
  EXPECT_EQ(read->grads.size(), 2u);
}

TEST(Saving, WritesAtOnceWhenAHookAsks) {
  const std::string folder = EmptyFolder();
  std::vector<std::string> saved;
  auto probe = SaveAfterStep(1);
  probe->before_save = [&](CheckpointContext& context) {
    saved.push_back(std::to_string(context.step()) + " " +
                    context.path().substr(folder.size()));
    return absl::OkStatus();
  };
  Fit(LinearParts(24, 8), Options(1), folder, std::move(probe));
  EXPECT_THAT(saved, ElementsAre("1 /ckpt_latest.pth", "3 /ckpt_latest.pth"));
}

TEST(Saving, CallsAfterSaveForEachFileWhenItIsWhole) {
  const std::string folder = EmptyFolder();
  std::vector<std::string> whole;
  auto probe = std::make_unique<Probe>();
  probe->after_save = [&](CheckpointContext& context) {
    EXPECT_TRUE(ReadCheckpoint(context.path()).ok());
    whole.push_back(context.path().substr(folder.size()));
    return absl::OkStatus();
  };
  Fit(LinearParts(8, 8, 8),
      Options(1, {{"save_ckpt_epoch_list", Node::List({Node::Int(1)})}}),
      folder, std::move(probe));
  EXPECT_THAT(whole, ElementsAre("/ckpt_best.pth", "/ckpt_epoch_1.pth",
                                 "/ckpt_latest.pth"));
}

TEST(Saving, TellsTheStepOfWhatIsInTheFile) {
  const std::string folder = EmptyFolder();
  Heard heard;
  Fit(LinearParts(64, 8), Options(1), folder, SaveAfterStep(2), &heard);
  std::vector<int64_t> steps;
  for (const EventReport& event : heard.events) {
    EXPECT_EQ(event.name, "checkpoint");
    EXPECT_EQ(event.detail["file"], "ckpt_latest.pth");
    steps.push_back(event.step);
  }
  EXPECT_THAT(steps, ElementsAre(2, 8));
}

TEST(Saving, KeepsTheLatestButOne) {
  const std::string folder = EmptyFolder();
  Fit(LinearParts(64, 8), Options(1), folder, SaveAfterStep(2));
  const std::string latest = folder + "/ckpt_latest.pth";
  EXPECT_EQ(ReadCheckpoint(latest)->step, 8);
  EXPECT_EQ(ReadCheckpoint(PreviousPath(latest))->step, 2);
}

TEST(Saving, KeepsTheBestOfAnEvaluationInTheMiddle) {
  const std::string folder = EmptyFolder();
  auto probe = std::make_unique<Probe>();
  probe->after_optimizer = [](StepContext& context) {
    if (context.step() == 6) context.control().RequestEvaluate();
    return absl::OkStatus();
  };
  // What comes after it is worse than chance.
  probe->before_optimizer = [](GradientContext& context) {
    if (context.step() < 6) return absl::OkStatus();
    for (auto& [name, parameter] : context.model().NamedParameters()) {
      parameter.grad().neg_().mul_(100);
    }
    return absl::OkStatus();
  };
  Fit(LinearParts(64, 8, 64), Options(1), folder, std::move(probe));
  const absl::StatusOr<Checkpoint> best =
      ReadCheckpoint(folder + "/ckpt_best.pth");
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->step, 6);
  EXPECT_EQ(ReadCheckpoint(folder + "/ckpt_latest.pth")->step, 8);
}

TEST(Saving, TakesTensorsThatPluginsAdd) {
  const std::string folder = EmptyFolder();
  auto probe = std::make_unique<Probe>();
  probe->before_save = [](CheckpointContext& context) {
    context.SetTensors("ema_net", context.model().StateDict());
    return absl::OkStatus();
  };
  Fit(LinearParts(8, 8), Options(1), folder, std::move(probe));
  const absl::StatusOr<Checkpoint> read =
      ReadCheckpoint(folder + "/ckpt_latest.pth");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->extra_nets.size(), 1u);
  EXPECT_EQ(read->extra_nets[0].first, "ema_net");
  EXPECT_EQ(read->extra_nets[0].second.size(), 2u);
}

TEST(Saving, WritesNothingWithoutAFolderOrWhenTold) {
  const std::string folder = EmptyFolder();
  const RunResult off =
      Fit(LinearParts(8, 8), Options(1, {{"save_model", Node::Bool(false)}}),
          folder);
  EXPECT_EQ(off.latest_checkpoint, "");
  EXPECT_TRUE(FilesIn(folder).empty());
  EXPECT_EQ(Fit(LinearParts(8, 8), Options(1), "").exit_code, 0);
}

TEST(Saving, EndsTheRunWhenAFileCannotBeWritten) {
  const RunResult result =
      Fit(LinearParts(8, 8), Options(1), "/nonexistent/folder");
  EXPECT_EQ(result.exit_code, 1);
  ASSERT_TRUE(result.error.has_value());
  EXPECT_EQ(result.error->kind, "checkpoint");
  EXPECT_THAT(result.error->detail,
              testing::HasSubstr("/nonexistent/folder/ckpt_latest.pth"));
  EXPECT_THAT(result.error->hint, testing::HasSubstr("run folder is gone"));
}

// The error of a save comes while the training goes on, at one of its steps.
TEST(Saving, EndsTheRunWhenItsFolderVanishes) {
  const std::string folder = EmptyFolder();
  int64_t steps = 0;
  auto probe = std::make_unique<Probe>();
  probe->after_optimizer = [&](StepContext& context) {
    if (context.step() == 1) std::filesystem::remove_all(folder);
    context.control().RequestSave();
    ++steps;
    return absl::OkStatus();
  };
  const RunResult result =
      Fit(LinearParts(800, 8), Options(1), folder, std::move(probe));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_LT(steps, 5);
  EXPECT_EQ(result.error->kind, "checkpoint");
  EXPECT_THAT(result.error->detail, testing::HasSubstr(folder));
  EXPECT_THAT(result.error->hint, testing::HasSubstr("run folder is gone"));
}

// What was whole before the failure is told.
TEST(Saving, FinishesWhatIsInFlightWhenTheTrainingFails) {
  const std::string folder = EmptyFolder();
  auto probe = SaveAfterStep(2);
  probe->step_begin = [](BatchContext& context) {
    if (context.step() < 2) return absl::OkStatus();
    return absl::InternalError("the third step fails");
  };
  Heard heard;
  const RunResult result =
      Fit(LinearParts(64, 8), Options(1), folder, std::move(probe), &heard);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.latest_checkpoint, "ckpt_latest.pth");
  EXPECT_EQ(ReadCheckpoint(folder + "/ckpt_latest.pth")->step, 2);
  ASSERT_FALSE(heard.events.empty());
  EXPECT_EQ(heard.events.back().step, 2);
}

}  // namespace
}  // namespace slipway::loop
