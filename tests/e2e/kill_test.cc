// Whatever dies, and wherever: the latest checkpoint loads, and the run that
// goes on from it ends as one that was never killed.
//
// The number of random kills is SLIPWAY_KILLS of the build or, for a long
// afternoon, of the environment:
//   ./bazelw test //tests/e2e:kill_slow_test --test_output=streamed
//       --test_env=SLIPWAY_KILLS=1000 --test_timeout=7200
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/e2e/runs.h"
#include "trainer/checkpoint/atomic_file.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

constexpr int kKilled = 128 + SIGKILL;

Outcome Train(const Arguments& arguments,
              const std::map<std::string, std::string>& environment = {}) {
  return RunTrainer(arguments, testing::TempDir(), environment);
}

// Kills a run at `point` once there is a checkpoint. How often a point is
// reached before that is found by doubling: a checkpoint takes many writes.
void KillAt(const std::string& point, const std::string& run_dir) {
  for (int turn = 6; turn < 100'000; turn *= 2) {
    fs::remove_all(run_dir);
    const Outcome killed = Train(
        SmallRun(run_dir), {{"SLIPWAY_FAULT", absl::StrCat(point, ":", turn)}});
    ASSERT_EQ(killed.exit_code, kKilled) << killed.err;
    if (fs::exists(run_dir + "/ckpt_latest.pth")) return;
  }
}

TEST(Kill, AtEveryFaultPointLosesNothing) {
  const std::string folder = EmptyFolder();
  const std::string whole = folder + "/whole";
  ASSERT_EQ(Train(SmallRun(whole)).exit_code, 0);
  for (const char* point : kFileFaultPoints) {
    SCOPED_TRACE(point);
    const std::string run_dir = absl::StrCat(folder, "/", point);
    KillAt(point, run_dir);
    EXPECT_GT(LatestOf(run_dir).step, 0);
    const Outcome resumed = Train(SmallRun(run_dir, {"resume=True"}));
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    ExpectSameRuns(run_dir, whole);
    for (const std::string& file : FilesIn(run_dir)) {
      EXPECT_FALSE(file.ends_with(".tmp")) << file;
    }
  }
}

int Kills() {
  const char* wanted = std::getenv("SLIPWAY_KILLS");
  return wanted != nullptr ? std::atoi(wanted) : SLIPWAY_KILLS;
}

// Sixty steps of at least ten milliseconds, saved every second step.
Arguments LongRun(const std::string& run_dir) {
  return SmallRun(run_dir,
                  {"epochs=10", "+plugins.interrupts.slow=10", "resume=True"});
}

// Runs that are killed again and again until they are done.
class RandomKills {
 public:
  explicit RandomKills(std::string folder) : folder_(std::move(folder)) {}

  void Run(int kills) {
    while (kills_ < kills) OneRun(kills);
    std::cout << kills_ << " kills, " << before_first_
              << " before the first checkpoint, " << finished_
              << " runs finished, " << lost_steps_ << " steps done again\n";
  }

 private:
  // To its end, killed on the way as often as there are kills left.
  void OneRun(int kills) {
    const std::string run_dir = folder_ + "/run";
    fs::remove_all(run_dir);
    while (kills_ < kills && KilledOnce(run_dir)) CheckLatest(run_dir);
    const Outcome last = Train(LongRun(run_dir));
    ASSERT_EQ(last.exit_code, 0) << last.err;
    ExpectSameRuns(run_dir, folder_ + "/whole");
    ++finished_;
  }

  // False if it was done before.
  bool KilledOnce(const std::string& run_dir) {
    Process process(TrainerPath(), LongRun(run_dir), folder_);
    const int milliseconds = std::uniform_int_distribution(0, 900)(random_);
    AwaitTraining(run_dir);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    process.Signal(SIGKILL);
    const Outcome outcome = process.Wait();
    kills_ += outcome.exit_code == kKilled;
    return outcome.exit_code == kKilled;
  }

  // Until the run has written a line of its own, or for a minute.
  void AwaitTraining(const std::string& run_dir) {
    const std::string metrics = run_dir + "/metrics.jsonl";
    const fs::file_time_type before = Written(metrics);
    for (int i = 0; i < 6000 && Written(metrics) == before; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  static fs::file_time_type Written(const std::string& path) {
    std::error_code error;
    return fs::last_write_time(path, error);
  }

  void CheckLatest(const std::string& run_dir) {
    if (!fs::exists(run_dir + "/ckpt_latest.pth")) {
      ++before_first_;
      return;
    }
    const int64_t saved = LatestOf(run_dir).step;
    for (const auto& line : LinesOf(run_dir, "step")) {
      lost_steps_ += line["step"].get<int64_t>() >= saved;
    }
  }

  const std::string folder_;
  std::mt19937 random_{20261130};
  int kills_ = 0;
  int before_first_ = 0;
  int finished_ = 0;
  int64_t lost_steps_ = 0;
};

TEST(Kill, AtRandomMomentsLosesNothing) {
  const std::string folder = EmptyFolder();
  ASSERT_EQ(Train(LongRun(folder + "/whole")).exit_code, 0);
  RandomKills(folder).Run(Kills());
}

}  // namespace
}  // namespace slipway
