#include "trainer/report/tensorboard.h"

#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/report/testing/read_events.h"

namespace slipway {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class TensorBoardTest : public testing::Test {
 protected:
  TensorBoardTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  TensorBoardReporter Reporter(bool monitor_system = false) {
    return TensorBoardReporter({.folder = folder_,
                                .recipe = {{"architecture", "resnet 18"}},
                                .monitor_system = monitor_system,
                                .clock = [this] { return now_; }});
  }

  static BeginReport Begin(int64_t first_epoch = 0, int64_t first_step = 0) {
    BeginReport begin;
    begin.max_epochs = 4;
    begin.first_epoch = first_epoch;
    begin.first_step = first_step;
    return begin;
  }

  static StepReport Step(int64_t epoch, int64_t step, double loss) {
    StepReport report = {.epoch = epoch, .step = step, .loss = loss};
    report.learning_rates = {{"default", 0.5}};
    report.samples_per_second = 80;
    report.data_wait = 0.25;
    report.logged = true;
    return report;
  }

  static EpochReport Epoch(const char* split, int64_t epoch, int64_t step,
                           double accuracy) {
    return {.split = split,
            .epoch = epoch,
            .step = step,
            .metrics = {{"CrossEntropyLoss", 0.5}, {"Top 5", accuracy}},
            .seconds = 2};
  }

  std::vector<int64_t> StepsOf(const std::string& tag) {
    std::vector<int64_t> steps;
    const std::vector<ScalarPoint> points = ReadScalars(folder_)[tag];
    for (const ScalarPoint& point : points) steps.push_back(point.step);
    return steps;
  }

  std::vector<std::string> Tags() {
    std::vector<std::string> tags;
    const auto scalars = ReadScalars(folder_);
    for (const auto& [tag, points] : scalars) tags.push_back(tag);
    return tags;
  }

  std::string folder_ = testing::TempDir() + "/tensorboard_test";
  double now_ = 1000;
};

TEST_F(TensorBoardTest, HasSuperGradientsTagsAgainstTheEpoch) {
  TensorBoardReporter reporter = Reporter();
  ASSERT_TRUE(reporter.OnBegin(Begin()).ok());
  ASSERT_TRUE(reporter.OnStep(Step(0, 0, 1)).ok());
  ASSERT_TRUE(reporter.OnEpoch(Epoch("train", 0, 10, 0.5)).ok());
  ASSERT_TRUE(reporter.OnEpoch(Epoch("valid", 0, 10, 0.25)).ok());
  ASSERT_TRUE(reporter.OnEpoch(Epoch("average", 3, 40, 0.75)).ok());
  auto scalars = ReadScalars(folder_);
  EXPECT_THAT(
      Tags(),
      ElementsAre("crossentropyloss", "lr", "step/data_wait", "step/loss",
                  "step/lr", "step/samples_per_second", "top_5",
                  "train_crossentropyloss", "train_inference_time",
                  "train_top_5", "valid_crossentropyloss",
                  "valid_inference_time", "valid_top_5"));
  EXPECT_THAT(scalars["train_inference_time"],
              ElementsAre(ScalarPoint{0, 2000}));
  EXPECT_THAT(scalars["valid_top_5"], ElementsAre(ScalarPoint{0, 0.25}));
  EXPECT_THAT(scalars["top_5"], ElementsAre(ScalarPoint{4, 0.75}));
}

TEST_F(TensorBoardTest, NamesTheGroupsWhereThereAreSeveral) {
  TensorBoardReporter reporter = Reporter();
  ASSERT_TRUE(reporter.OnBegin(Begin()).ok());
  StepReport first = Step(0, 0, 1);
  first.learning_rates = {{"default", 0.5}, {"Head", 0.25}};
  ASSERT_TRUE(reporter.OnStep(first).ok());
  EXPECT_THAT(Tags(), IsSupersetOf({"lr/default", "lr/head", "step/lr/default",
                                    "step/lr/head"}));
}

TEST_F(TensorBoardTest, TakesAnEpochsRatesFromItsFirstStep) {
  TensorBoardReporter reporter = Reporter();
  ASSERT_TRUE(reporter.OnBegin(Begin()).ok());
  StepReport first = Step(0, 3, 1);
  first.logged = false;
  ASSERT_TRUE(reporter.OnStep(first).ok());
  StepReport second = Step(0, 4, 1);
  second.learning_rates[0].second = 0.125;
  ASSERT_TRUE(reporter.OnStep(second).ok());
  EXPECT_THAT(ReadScalars(folder_)["lr"], ElementsAre(ScalarPoint{0, 0.5}));
  EXPECT_THAT(StepsOf("step/loss"), ElementsAre(4));
}

// bug_reports O30, with both axes: logged every 10 steps to 150, epochs of 50,
// checkpoint at step 100, killed, resumed to 200.
TEST_F(TensorBoardTest, HasEachStepOnceAfterAResume) {
  for (const bool resumed : {false, true}) {
    TensorBoardReporter reporter = Reporter();
    ASSERT_TRUE(reporter.OnBegin(resumed ? Begin(2, 101) : Begin()).ok());
    for (int64_t step = resumed ? 110 : 10; step <= (resumed ? 200 : 150);
         step += 10) {
      const int64_t epoch = (step - 1) / 50;
      ASSERT_TRUE(reporter.OnStep(Step(epoch, step, resumed ? 2 : 1)).ok());
      if (step % 50 != 0) continue;
      ASSERT_TRUE(reporter.OnEpoch(Epoch("train", epoch, step, resumed)).ok());
      ASSERT_TRUE(reporter.OnEpoch(Epoch("valid", epoch, step, resumed)).ok());
    }
  }
  std::vector<ScalarPoint> expected;
  for (int64_t step = 10; step <= 200; step += 10) {
    expected.push_back({step, step > 100 ? 2.f : 1.f});
  }
  EXPECT_EQ(ReadScalars(folder_)["step/loss"], expected);
  for (const char* tag : {"lr", "train_top_5", "valid_inference_time"}) {
    EXPECT_THAT(StepsOf(tag), ElementsAre(0, 1, 2, 3)) << tag;
  }
  EXPECT_THAT(ReadScalars(folder_)["valid_top_5"],
              ElementsAre(ScalarPoint{0, 0}, ScalarPoint{1, 0},
                          ScalarPoint{2, 1}, ScalarPoint{3, 1}));
}

TEST_F(TensorBoardTest, TakesBackWhatATrainingDoesAgain) {
  TensorBoardReporter reporter = Reporter();
  ASSERT_TRUE(reporter.OnBegin(Begin()).ok());
  for (const int64_t step : {0, 1, 2, 3}) {
    ASSERT_TRUE(reporter.OnStep(Step(0, step, 1)).ok());
  }
  for (const int64_t step : {2, 3, 4}) {  // rolled back
    ASSERT_TRUE(reporter.OnStep(Step(0, step, 2)).ok());
  }
  EXPECT_THAT(
      ReadScalars(folder_)["step/loss"],
      ElementsAre(ScalarPoint{0, 1}, ScalarPoint{1, 1}, ScalarPoint{2, 2},
                  ScalarPoint{3, 2}, ScalarPoint{4, 2}));
  EXPECT_THAT(StepsOf("lr"), ElementsAre(0));
}

TEST_F(TensorBoardTest, DrawsAnEvaluationInMidEpochAgainstTheStep) {
  TensorBoardReporter reporter = Reporter();
  ASSERT_TRUE(reporter.OnBegin(Begin()).ok());
  ASSERT_TRUE(reporter.OnEpoch(Epoch("valid", 0, 5, 0.25)).ok());
  ASSERT_TRUE(reporter.OnEpoch(Epoch("train", 0, 10, 0.5)).ok());
  ASSERT_TRUE(reporter.OnEpoch(Epoch("valid", 0, 10, 0.75)).ok());
  auto scalars = ReadScalars(folder_);
  EXPECT_THAT(scalars["step/valid_top_5"], ElementsAre(ScalarPoint{5, 0.25}));
  EXPECT_THAT(scalars["valid_top_5"], ElementsAre(ScalarPoint{0, 0.75}));
}

TEST_F(TensorBoardTest, WatchesTheMachineIfAsked) {
  TensorBoardReporter reporter = Reporter(/*monitor_system=*/true);
  ASSERT_TRUE(reporter.OnBegin(Begin()).ok());
  for (const int64_t step : {0, 1, 2}) {
    now_ += 20;
    ASSERT_TRUE(reporter.OnStep(Step(0, step, 1)).ok());
  }
  EXPECT_THAT(StepsOf("System/memory.usage_percent"), ElementsAre(0));
  TensorBoardReporter resumed = Reporter(/*monitor_system=*/true);
  ASSERT_TRUE(resumed.OnBegin(Begin(0, 2)).ok());
  now_ += 30;
  ASSERT_TRUE(resumed.OnStep(Step(0, 2, 1)).ok());
  EXPECT_THAT(StepsOf("System/memory.usage_percent"), ElementsAre(0, 1));
}

TEST_F(TensorBoardTest, DoesNotWatchTheMachineUnasked) {
  TensorBoardReporter reporter = Reporter();
  ASSERT_TRUE(reporter.OnBegin(Begin()).ok());
  now_ += 60;
  ASSERT_TRUE(reporter.OnStep(Step(0, 0, 1)).ok());
  EXPECT_THAT(Tags(), Not(Contains(HasSubstr("System"))));
}

TEST_F(TensorBoardTest, SaysWhyItCannotWrite) {
  TensorBoardReporter reporter({.folder = folder_ + "/missing"});
  const absl::Status status = reporter.OnBegin(Begin());
  EXPECT_THAT(std::string(status.message()), HasSubstr("/missing/events.out"));
}

}  // namespace
}  // namespace slipway
