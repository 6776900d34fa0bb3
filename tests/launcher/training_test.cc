// Two ranks that train under the launcher: rates that grow with them, and a
// start again after one is killed.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "tests/e2e/runs.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Launched : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (std::thread::hardware_concurrency() < 2) {
      GTEST_SKIP() << "two ranks need two cores";
    }
  }
};

// Two epochs of four steps, each of which is told; saved after each epoch.
Arguments Launch(int ranks, const Arguments& flags, const std::string& run_dir,
                 const Arguments& more = {}) {
  Arguments all = {absl::StrCat("--num_processes=", ranks),
                   "--log_dir=" + run_dir + ".logs"};
  all.insert(all.end(), flags.begin(), flags.end());
  const Arguments run = {
      "--",
      "--recipe=digits_resnet",
      "--run_dir=" + run_dir,
      absl::StrCat("--plugin_path=", RunfilePath("tests/e2e")),
      "epochs=2",
      "training_hyperparams.max_train_batches=4",
      "training_hyperparams.log_every=1"};
  all.insert(all.end(), run.begin(), run.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Outcome RunToTheEnd(const Arguments& arguments) {
  return Process(RunfilePath("launcher/launcher"), arguments,
                 testing::TempDir())
      .Wait();
}

// The process that is rank `rank` of the run in `run_dir`; 0 if there is none.
pid_t PidOf(int rank, const std::string& run_dir) {
  const auto text = [](const fs::path& path) {
    std::ifstream file(path);
    return std::string(1, '\0') +
           std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string variable =
      absl::StrCat(std::string(1, '\0'), "RANK=", rank, std::string(1, '\0'));
  for (const auto& entry : fs::directory_iterator("/proc")) {
    if (absl::StrContains(text(entry.path() / "cmdline"),
                          "--run_dir=" + run_dir) &&
        absl::StrContains(text(entry.path() / "environ"), variable)) {
      return std::stoi(entry.path().filename());
    }
  }
  return 0;
}

// A launch that may start again, and of which the last rank is killed in the
// second epoch, once the first one's checkpoint is there.
Outcome RunKilledOnce(int ranks, const std::string& run_dir) {
  Process launch(RunfilePath("launcher/launcher"),
                 Launch(ranks, {"--max_restarts=1", "--grace=1s"}, run_dir,
                        {"+plugins.interrupts.slow=300"}),
                 testing::TempDir());
  for (int i = 0; i < 6000 && !fs::exists(run_dir + "/ckpt_latest.pth"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const pid_t rank = PidOf(ranks - 1, run_dir);
  EXPECT_GT(rank, 0);
  if (rank > 0) kill(rank, SIGKILL);
  return launch.Wait();
}

TEST_P(Launched, StartsAgainFromTheCheckpointWhenARankIsKilled) {
  const std::string run_dir = EmptyFolder() + "/run";
  const Outcome run = RunKilledOnce(GetParam(), run_dir);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json report =
      json::parse(ReadText(run_dir + ".logs/launch_report.json"));
  ASSERT_EQ(report["attempts"].size(), 2u);
  const int last = GetParam() - 1;
  EXPECT_EQ(report["attempts"][0]["ranks"][last]["signal"], "SIGKILL");
  EXPECT_EQ(report["attempts"][1]["ranks"][last]["exit_code"], 0);
  const json result = ResultOf(run_dir);
  EXPECT_EQ(result["exit_reason"], "done");
  EXPECT_EQ(result["world_size"], GetParam());
  EXPECT_EQ(result["steps"], 8);
  EXPECT_EQ(result["resumed_from"]["epoch"], 1);
  EXPECT_EQ(result["resumed_from"]["step"], 4);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Launched, testing::Values(1, 2),
                         testing::PrintToStringParamName());

std::vector<double> RatesOf(const std::string& run_dir) {
  std::vector<double> rates;
  for (const json& line : LinesOf(run_dir, "step")) {
    rates.push_back(line["lr"]["default"].get<double>());
  }
  return rates;
}

// BigDL-Nano's formula under a schedule, of which eight steps of the thousand
// are done; what counts them survives a kill.
TEST(TwoRanks, RaiseTheirRatesAlsoAcrossARestart) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "two cores";
  const std::string folder = EmptyFolder();
  const std::string flat = folder + "/flat", raised = folder + "/raised",
                    killed = folder + "/killed";
  const Outcome without = RunToTheEnd(Launch(2, {"--auto_lr=false"}, flat));
  ASSERT_EQ(without.exit_code, 0) << without.err;
  const Outcome with = RunToTheEnd(Launch(2, {}, raised));
  ASSERT_EQ(with.exit_code, 0) << with.err;
  const Outcome again = RunKilledOnce(2, killed);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const std::vector<double> before = RatesOf(flat), after = RatesOf(raised);
  ASSERT_EQ(before.size(), 8u);
  ASSERT_EQ(after.size(), 8u);
  for (int step = 0; step < 8; ++step) {
    EXPECT_NEAR(after[step] / before[step], 1 + step / 1000.0, 1e-9) << step;
  }
  EXPECT_EQ(RatesOf(killed), after);
  EXPECT_EQ(ResultOf(killed)["resumed_from"]["step"], 4);
}

}  // namespace
}  // namespace slipway
