// --replay: a run is run again, and its states are compared.
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/process.h"

namespace slipway {
namespace {

using testing::HasSubstr;

// Two epochs of six batches whose state is written at every second step.
std::vector<std::string> Recorded() {
  return {"--recipe=digits_all_plugins",
          "--run_dir=run",
          "epochs=2",
          "batch_size=32",
          "training_hyperparams.max_train_batches=6",
          "training_hyperparams.state_hash_every=2"};
}

std::string RecordedRun() {
  const std::string folder = EmptyFolder();
  const Outcome run = RunTrainer(Recorded(), folder);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return folder;
}

void Replace(const std::string& path, const std::string& from,
             const std::string& to) {
  const std::string text = ReadText(path);
  ASSERT_THAT(text, HasSubstr(from));
  std::ofstream(path) << absl::StrReplaceAll(text, {{from, to}});
}

std::map<std::string, std::string> Contents(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const std::string& name : FilesIn(folder)) {
    contents[name] = ReadText(folder + "/" + name);
  }
  return contents;
}

TEST(Replay, IsEqualAndWritesNothing) {
  const std::string folder = RecordedRun();
  const auto before = Contents(folder + "/run");
  const Outcome replay = RunTrainer({"--replay=run"}, folder);
  EXPECT_EQ(replay.exit_code, 0) << replay.err;
  // At steps 0, 2 to 12, and the end of the last epoch.
  EXPECT_THAT(replay.err, HasSubstr("equal: 8 states up to step 12\n"));
  EXPECT_EQ(replay.out, "");
  EXPECT_EQ(Contents(folder + "/run"), before);
  EXPECT_EQ(FilesIn(folder), std::vector<std::string>{"run"});
}

TEST(Replay, EndsWhereItIsToldTo) {
  const std::string folder = RecordedRun();
  const Outcome replay = RunTrainer({"--replay=run", "--until=5"}, folder);
  EXPECT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_THAT(replay.err, HasSubstr("equal: 3 states up to step 4\n"));
}

TEST(Replay, NamesTheFirstStepThatDiffers) {
  const std::string folder = RecordedRun();
  // The first step does not depend on it, the second does.
  Replace(folder + "/run/recipe.yaml", "momentum: 0.9", "momentum: 0.8");
  const Outcome replay = RunTrainer({"--replay=run"}, folder);
  EXPECT_EQ(replay.exit_code, 1) << replay.err;
  EXPECT_THAT(replay.err, HasSubstr("different: step 2, tensor net/conv1.weight"
                                    ", rank 0\n"));
  EXPECT_THAT(replay.err,
              HasSubstr("the last equal state is that of step 0\n"));
}

// Stopped at step 3, killed at step 8, and twice resumed.
TEST(Replay, BeginsWhereAnInterruptedRunBegan) {
  const std::string folder = EmptyFolder();
  std::vector<std::string> arguments = Recorded();
  EXPECT_EQ(RunTrainer(arguments, folder, {{"SLIPWAY_FAULT", "step:3:SIGTERM"}})
                .exit_code,
            143);
  arguments.push_back("resume=true");
  EXPECT_EQ(
      RunTrainer(arguments, folder, {{"SLIPWAY_FAULT", "step:5"}}).exit_code,
      137);
  ASSERT_EQ(RunTrainer(arguments, folder).exit_code, 0);
  const Outcome replay = RunTrainer({"--replay=run"}, folder);
  EXPECT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_THAT(replay.err, HasSubstr("equal: 8 states up to step 12\n"));
}

TEST(Replay, BeginsAtTheCheckpointThatTheRunTookUp) {
  const std::string folder = RecordedRun();
  std::vector<std::string> arguments = Recorded();
  arguments[1] = "--run_dir=longer";
  arguments.push_back("epochs=3");
  arguments.push_back("++training_hyperparams.resume_path=run/ckpt_latest.pth");
  const Outcome run = RunTrainer(arguments, folder);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Outcome replay = RunTrainer({"--replay=longer"}, folder);
  EXPECT_EQ(replay.exit_code, 0) << replay.err;
  EXPECT_THAT(replay.err, HasSubstr("equal: 4 states up to step 18\n"));
}

TEST(Replay, SaysFirstThatThreadsDiffer) {
  const std::string folder = RecordedRun();
  const Outcome replay = RunTrainer({"--replay=run", "--until=0"}, folder,
                                    {{"OMP_NUM_THREADS", "2"}});
  EXPECT_THAT(replay.err, HasSubstr("note: process 1 of the run was another\n"
                                    "  detail: threads: 1 then, 2 now\n"));
  EXPECT_EQ(replay.exit_code, 0) << replay.err;
}

TEST(Replay, NeedsARunThatWasRecorded) {
  const std::string folder = EmptyFolder();
  const Outcome nothing = RunTrainer({"--replay=nowhere"}, folder);
  EXPECT_EQ(nothing.exit_code, 2);
  std::vector<std::string> arguments = Recorded();
  arguments.back() = "training_hyperparams.max_valid_batches=1";
  ASSERT_EQ(RunTrainer(arguments, folder).exit_code, 0);
  const Outcome unrecorded = RunTrainer({"--replay=run"}, folder);
  EXPECT_EQ(unrecorded.exit_code, 2);
  EXPECT_THAT(unrecorded.err, HasSubstr("state_hash_every"));
}

}  // namespace
}  // namespace slipway
