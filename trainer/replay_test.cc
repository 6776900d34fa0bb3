#include "trainer/replay.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using loop::StateRecord;
using nlohmann::ordered_json;
using testing::HasSubstr;

StateRecord At(int64_t epoch, int64_t batch, int64_t step,
               std::string hash = "a") {
  return {.rank = 0,
          .epoch = epoch,
          .batch = batch,
          .step = step,
          .hashes = {{"net/weight", hash}, {"net/bias", "b"}}};
}

ReplayLog Log(std::vector<StateRecord> records) {
  return {.environments = {{{"threads", 1}, {"cpu", "avx2"}}},
          .records = std::move(records)};
}

TEST(Replay, IsEqualWhenEveryStateIs) {
  ReplayCheck check(Log({At(0, 0, 0), At(0, 2, 2), At(1, 0, 4, "c")}));
  for (const StateRecord& here : {At(0, 0, 0), At(0, 2, 2), At(1, 0, 4, "c")}) {
    EXPECT_FALSE(check.done());
    check.Observe(here);
  }
  EXPECT_TRUE(check.done());
  EXPECT_TRUE(check.equal());
  EXPECT_EQ(check.Verdict(), "equal: 3 states up to step 4\n");
}

TEST(Replay, NamesTheFirstStepTensorAndRankThatDiffer) {
  ReplayCheck check(Log({At(0, 0, 0), At(0, 2, 2), At(0, 4, 4)}));
  check.Observe(At(0, 0, 0));
  check.Observe(At(0, 2, 2, "x"));
  EXPECT_TRUE(check.done());
  check.Observe(At(0, 4, 4, "y"));
  EXPECT_FALSE(check.equal());
  EXPECT_EQ(check.Verdict(),
            "different: step 2, tensor net/weight, rank 0\n"
            "  detail: epoch 0, batch 2; 1 of 2 parts: net/weight\n"
            "  detail: the last equal state is that of step 0\n");
}

TEST(Replay, TellsThatTheStartDiffers) {
  ReplayCheck check(Log({At(0, 0, 0)}));
  check.Observe(At(0, 0, 0, "x"));
  EXPECT_THAT(check.Verdict(), HasSubstr("the first state differs"));
}

TEST(Replay, TellsStepsThatWereTakenDifferently) {
  ReplayCheck check(Log({At(0, 2, 2)}));
  check.Observe(At(0, 2, 1, "x"));
  EXPECT_THAT(check.Verdict(), HasSubstr("had taken 2 steps there"));
}

TEST(Replay, ComparesAPlaceWithEveryVisit) {
  const std::vector<StateRecord> twice = {At(0, 2, 2), At(0, 4, 4),
                                          At(0, 4, 4, "x")};
  ReplayCheck check(Log(twice));
  check.Observe(At(0, 2, 2));
  check.Observe(At(0, 4, 4));
  EXPECT_THAT(check.Verdict(), HasSubstr("different: step 4"));
}

TEST(ReplayOverrides, BeginWhereTheRunBegan) {
  EXPECT_EQ(ReplayOverrides(Log({At(0, 0, 0), At(0, 2, 2)})).size(), 3u);
  EXPECT_TRUE(ReplayOverrides(Log({At(0, 2, 2)})).empty());
  EXPECT_TRUE(ReplayOverrides(Log({At(1, 0, 2)})).empty());
}

std::string Written(const std::vector<StateRecord>& records) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string run_dir = testing::TempDir() + "/" + test->name();
  std::filesystem::remove_all(run_dir);
  std::filesystem::create_directories(run_dir);
  auto writer = ReplayLogWriter::Open(ReplayLogPath(run_dir, 0),
                                      ordered_json::object(), 1);
  for (const StateRecord& record : records) {
    EXPECT_TRUE((*writer)->Observe(record).ok());
  }
  return run_dir;
}

TEST(OpenReplay, TakesTheStatesUpToAStep) {
  const std::string run_dir = Written({At(0, 2, 2), At(0, 4, 4)});
  Problems problems;
  EXPECT_EQ(OpenReplay(run_dir, 0, std::nullopt, problems)->records.size(), 2u);
  EXPECT_EQ(OpenReplay(run_dir, 0, 3, problems)->records.size(), 1u);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  EXPECT_FALSE(OpenReplay(run_dir, 0, 1, problems).has_value());
  EXPECT_THAT(FormatProblems(problems), HasSubstr("no state up to step 1"));
}

TEST(OpenReplay, TellsHowToWriteThem) {
  Problems problems;
  EXPECT_FALSE(OpenReplay("/nowhere", 0, std::nullopt, problems).has_value());
  EXPECT_THAT(FormatProblems(problems), HasSubstr("state_hash_every"));
}

TEST(Replay, PassesOverWhatWasNotWritten) {
  ReplayCheck check(Log({At(0, 2, 2)}));
  EXPECT_FALSE(check.Expects(At(0, 1, 1)));
  EXPECT_TRUE(check.Expects(At(0, 2, 2)));
  check.Observe(At(0, 1, 1, "x"));
  EXPECT_FALSE(check.done());
}

TEST(Replay, DiffersWhenItEndsEarlier) {
  ReplayCheck check(Log({At(0, 2, 2), At(1, 3, 9)}));
  check.Observe(At(0, 2, 2));
  EXPECT_FALSE(check.equal());
  EXPECT_EQ(check.Verdict(),
            "different: the run was at epoch 1, batch 3 (step 9), where the "
            "replay never was\n  detail: 1 states before that are equal\n");
}

TEST(Replay, TellsFirstWhatIsAnotherProcessor) {
  const ReplayCheck check(Log({At(0, 0, 0)}));
  EXPECT_EQ(check.DescribeEnvironment({{"threads", 1}, {"cpu", "avx2"}}), "");
  EXPECT_EQ(check.DescribeEnvironment({{"threads", 4}, {"cpu", "avx512"}}),
            "note: process 1 of the run was another\n"
            "  detail: threads: 1 then, 4 now; cpu: \"avx2\" then, \"avx512\" "
            "now\n"
            "  hint:   states may differ for this reason alone, by rounding\n");
}

}  // namespace
}  // namespace slipway
