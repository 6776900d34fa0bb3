#include "trainer/loop/saving.h"

#include <csignal>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
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
  return names;
}

RunResult Fit(TrainerParts parts, TrainerOptions options,
              const std::string& folder,
              std::unique_ptr<Probe> probe = nullptr) {
  if (probe != nullptr) parts.hooks = ProbeRunner(std::move(probe));
  options.run_dir = folder;
  Problems problems;
  const auto trainer =
      Trainer::Create(std::move(parts), std::move(options), problems);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  return trainer->Fit();
}

TEST(Saving, KeepsLatestBestAndListedEpochs) {
  const std::string folder = EmptyFolder();
  const RunResult result =
      Fit(LinearParts(64, 8, 64),
          Options(3, {{"save_ckpt_epoch_list", Node::List({Node::Int(2)})}}),
          folder);
  EXPECT_THAT(FilesIn(folder),
              UnorderedElementsAre("ckpt_latest.pth", "ckpt_best.pth",
                                   "ckpt_epoch_2.pth"));
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
  auto probe = std::make_unique<Probe>();
  probe->after_optimizer = [](StepContext& context) {
    if (context.step() == 1) context.control().RequestSave();
    return absl::OkStatus();
  };
  probe->before_save = [&](CheckpointContext& context) {
    saved.push_back(std::to_string(context.step()) + " " +
                    context.path().substr(folder.size()));
    return absl::OkStatus();
  };
  Fit(LinearParts(24, 8), Options(1), folder, std::move(probe));
  EXPECT_THAT(saved, ElementsAre("1 /ckpt_latest.pth", "3 /ckpt_latest.pth"));
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
}

}  // namespace
}  // namespace slipway::loop
