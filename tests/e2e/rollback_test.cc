// `non_finite: rollback` in a whole training: BatchNorm, averaged weights, a
// schedule, accumulation.
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "trainer/checkpoint/checkpoint.h"

namespace slipway {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Three epochs of ten batches, of which one is a nan, in steps of two.
std::vector<std::string> OneBadBatch(const std::string& policy) {
  return {"--recipe=digits_all_plugins",
          "--run_dir=run",
          "--plugin_path=" + RunfilePath("tests/e2e/faulty"),
          "+plugins.faulty={nan_batch: 4}",
          "epochs=3",
          "batch_size=32",
          "training_hyperparams.batch_accumulate=2",
          "training_hyperparams.max_train_batches=10",
          "training_hyperparams.non_finite=" + policy};
}

bool IsFinite(const std::vector<nn::NamedTensor>& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.isfinite().all().item().toBool()) return false;
  }
  return !tensors.empty();
}

std::vector<json> Events(const std::string& metrics, const std::string& name) {
  std::vector<json> events;
  std::istringstream text(ReadText(metrics));
  for (std::string line; std::getline(text, line);) {
    const json object = json::parse(line);
    if (object.value("name", "") == name) events.push_back(object);
  }
  return events;
}

TEST(Rollback, LeavesNothingOfABatchThatIsNoNumber) {
  const std::string folder = EmptyFolder();
  const Outcome run = RunTrainer(OneBadBatch("rollback"), folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::vector<json> events =
      Events(folder + "/run/metrics.jsonl", "rollback");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1]["epoch"], 1);
  EXPECT_EQ(events[1]["step"], 6);
  EXPECT_EQ(events[1]["detail"]["reason"], "the loss is nan");
  EXPECT_EQ(events[1]["detail"]["batches"], json({4, 5}));
  EXPECT_THAT(run.err, HasSubstr("rollback at step 6"));

  const json result = json::parse(ReadText(folder + "/run/result.json"));
  EXPECT_EQ(result["steps"], 12);
  EXPECT_TRUE(
      result["metrics"]["final"]["train"]["CrossEntropyLoss"].is_number());
  EXPECT_TRUE(
      result["metrics"]["final"]["valid"]["CrossEntropyLoss"].is_number());
  const absl::StatusOr<Checkpoint> state =
      ReadCheckpoint(folder + "/run/ckpt_latest.pth");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_TRUE(IsFinite(state->net));
  ASSERT_EQ(state->extra_nets.size(), 1u);
  EXPECT_TRUE(IsFinite(state->extra_nets[0].second));
  // The average counts the steps that were taken.
  for (const auto& [id, plugin] : state->plugins) {
    if (id != "ema") continue;
    EXPECT_EQ(plugin.state.values.Find("updates")->AsInt(), 12);
  }
}

// What it is better than: BatchNorm's statistics are spoiled for good.
TEST(Rollback, KeepsWhatSkippingLoses) {
  const std::string folder = EmptyFolder();
  ASSERT_EQ(RunTrainer(OneBadBatch("skip"), folder).exit_code, 0);
  const absl::StatusOr<Checkpoint> state =
      ReadCheckpoint(folder + "/run/ckpt_latest.pth");
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_FALSE(IsFinite(state->net));
}

TEST(Rollback, GivesUpWithItsReason) {
  const std::string folder = EmptyFolder();
  const Outcome run =
      RunTrainer({"--recipe=digits_resnet", "--run_dir=run", "lr=1e30",
                  "training_hyperparams.non_finite=rollback"},
                 folder);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("10 rollbacks in a row did not help"));
  EXPECT_THAT(run.err, HasSubstr("initial_lr"));
  const json result = json::parse(ReadText(folder + "/run/result.json"));
  EXPECT_EQ(result["exit_reason"], "non_finite");
}

}  // namespace
}  // namespace slipway
