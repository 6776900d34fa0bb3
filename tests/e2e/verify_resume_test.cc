// verify_resume on a small training, and that it can fail.
#include <algorithm>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/process.h"

namespace slipway {
namespace {

using testing::HasSubstr;

Outcome Verify(std::vector<std::string> arguments) {
  const std::vector<std::string> small = {
      "--recipe=digits_all_plugins",
      "--seed=17",
      "epochs=2",
      "batch_size=16",
      "val_batch_size=16",
      "training_hyperparams.max_train_batches=6",
      "training_hyperparams.max_valid_batches=1",
      "training_hyperparams.batch_accumulate=2"};
  arguments.insert(arguments.end(), small.begin(), small.end());
  return Process(RunfilePath("trainer/verify_resume"), arguments, EmptyFolder())
      .Wait();
}

// Lines of the table that say `word`.
int64_t Count(const std::string& table, const std::string& word) {
  const std::vector<std::string> lines = absl::StrSplit(table, '\n');
  return std::count_if(lines.begin(), lines.end(), [&](const auto& line) {
    return line.find(word) != std::string::npos;
  });
}

TEST(VerifyResume, ShowsThatARecipeResumesExactly) {
  const Outcome run = Verify({"--rounds=1"});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_EQ(Count(run.out, "  equal"), 8) << run.out;
  EXPECT_EQ(Count(run.out, "not met"), 0) << run.out;
  for (const char* place : {"in the middle of accumulation  SIGTERM  step 2",
                            "right after a save             SIGKILL  step 3"}) {
    EXPECT_THAT(run.out, HasSubstr(place));
  }
  EXPECT_THAT(run.err, HasSubstr("bit for bit"));
  EXPECT_THAT(run.err, HasSubstr("--seed=17"));
}

TEST(VerifyResume, FindsStateThatIsNotSaved) {
  const Outcome run =
      Verify({"--rounds=0", "--plugin_path=" + RunfilePath("tests/e2e/faulty"),
              "+plugins.faulty={forgets: true}"});
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  EXPECT_GE(Count(run.out, "parts differ: net/"), 5) << run.out;
  EXPECT_THAT(run.err, HasSubstr("the runs are left in"));
}

TEST(VerifyResume, RefusesWhatItCannotRun) {
  const Outcome nothing = Process(RunfilePath("trainer/verify_resume"),
                                  {"--rounds=-1"}, EmptyFolder())
                              .Wait();
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("--rounds is \"-1\""));
  EXPECT_THAT(nothing.err, HasSubstr("no recipe"));
  EXPECT_EQ(Verify({"--rounds=0", "training_hyperparams.sead=1"}).exit_code, 2);
}

}  // namespace
}  // namespace slipway
