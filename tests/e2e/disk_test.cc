// What a run makes of its disk: full, read-only, or with the folder gone. Each
// ends with a message that says what to do, and loses nothing.
//
// Disks are small file systems in memory, mounted in a namespace of the test's
// own; where the machine allows no such thing those tests are skipped.
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/process.h"
#include "trainer/checkpoint/checkpoint.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// Runs a script as root of a namespace, in which it may mount. `more` are
// further arguments of the trainer.
Outcome InNamespace(const std::string& script, const std::string& folder,
                    const std::string& more = "") {
  return Process("/usr/bin/env", {"unshare", "-Urm", "sh", "-c", script},
                 folder, {{"TRAINER", TrainerPath()}, {"MORE", more}})
      .Wait();
}

bool MayMount() {
  return InNamespace("mkdir disk && mount -t tmpfs none disk", EmptyFolder())
             .exit_code == 0;
}

// Once there is a latest checkpoint, whatever is left of the disk is taken.
constexpr char kFillDisk[] = R"(
mkdir disk
mount -t tmpfs -o size=64m none disk
"$TRAINER" --recipe=digits_resnet epochs=1000 --run_dir=disk/run \
    --progress=none $MORE &
for i in $(seq 600); do
  [ -e disk/run/ckpt_latest.pth ] && break
  sleep 0.1
done
cat /dev/zero >disk/filler 2>&-
wait $!
code=$?
cp -r disk/run run
exit $code
)";

TEST(Disk, EndsARunThatFillsItAndKeepsTheLastCheckpoint) {
  if (!MayMount()) GTEST_SKIP() << "this machine allows no mounts";
  const std::string folder = EmptyFolder();
  const Outcome run = InNamespace(kFillDisk, folder);
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr("No space left on device"));
  EXPECT_THAT(run.err, HasSubstr("free some space, then go on"));
  const absl::StatusOr<Checkpoint> latest =
      ReadCheckpoint(folder + "/run/ckpt_latest.pth");
  ASSERT_TRUE(latest.ok()) << latest.status();
  EXPECT_GT(latest->step, 0);
  for (const std::string& name : FilesIn(folder + "/run")) {
    EXPECT_FALSE(name.ends_with(".tmp")) << name;
  }
}

TEST(Disk, ThatIsFullIsNoMemoryThatRanOut) {
  if (!MayMount()) GTEST_SKIP() << "this machine allows no mounts";
  // Hashes are written at every step, so that they meet it first.
  const Outcome run = InNamespace(kFillDisk, EmptyFolder(),
                                  "training_hyperparams.state_hash_every=1");
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr("state_hashes.jsonl"));
  EXPECT_THAT(run.err, HasSubstr("No space left on device"));
  EXPECT_THAT(run.err, Not(HasSubstr("memory ran out")));
  EXPECT_THAT(run.err, Not(HasSubstr("batch_size")));
}

TEST(Disk, RefusesAReadOnlyOneBeforeAnythingStarts) {
  if (!MayMount()) GTEST_SKIP() << "this machine allows no mounts";
  const Outcome run = InNamespace(
      "mkdir disk && mount -t tmpfs -o ro none disk && "
      "exec \"$TRAINER\" --recipe=digits_resnet --run_dir=disk/run",
      EmptyFolder());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("disk/run: Read-only file system"));
}

bool WaitForCheckpoint(const std::string& run_dir) {
  for (int i = 0; i < 600; ++i) {
    if (fs::exists(run_dir + "/ckpt_latest.pth")) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

TEST(Disk, EndsARunWhoseFolderVanishes) {
  const std::string folder = EmptyFolder();
  const std::string run_dir = folder + "/run";
  Process process(TrainerPath(),
                  {"--recipe=digits_resnet", "epochs=1000",
                   "--run_dir=" + run_dir, "--progress=none"},
                  folder);
  ASSERT_TRUE(WaitForCheckpoint(run_dir));
  // A rename takes all at once, while the run may be writing.
  fs::rename(run_dir, folder + "/elsewhere");
  const Outcome run = process.Wait();
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr("/run/averaging/"));
  EXPECT_THAT(run.err, HasSubstr("No such file or directory"));
  EXPECT_THAT(run.err, HasSubstr("the run folder is gone"));
  EXPECT_TRUE(ReadCheckpoint(folder + "/elsewhere/ckpt_latest.pth").ok());
}

}  // namespace
}  // namespace slipway
