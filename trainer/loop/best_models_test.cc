#include "trainer/loop/best_models.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

using testing::ElementsAre;

std::vector<int64_t> Epochs(const std::vector<RankedModel>& models) {
  std::vector<int64_t> epochs;
  for (const RankedModel& model : models) epochs.push_back(model.epoch);
  return epochs;
}

// Epochs 1 to 10 with the values 1 to 10.
BestModels Ten(bool greater_is_better) {
  BestModels best(greater_is_better);
  for (int64_t i = 1; i <= 10; ++i) {
    EXPECT_TRUE(best.Takes(static_cast<double>(i)));
    EXPECT_TRUE(best.Add({i, static_cast<double>(i)}).empty());
  }
  return best;
}

TEST(BestModels, ReplacesTheWorstOfTenByABetterOne) {
  BestModels best = Ten(true);
  EXPECT_TRUE(best.Takes(1.5));
  EXPECT_THAT(Epochs(best.Add({11, 1.5})), ElementsAre(1));
  EXPECT_THAT(Epochs(best.models()),
              ElementsAre(2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(Epochs(best.Add({12, 1.7})), ElementsAre(11));
}

TEST(BestModels, LeavesWhatIsNoBetterOut) {
  BestModels best = Ten(true);
  EXPECT_FALSE(best.Takes(1));
  EXPECT_FALSE(best.Takes(0.5));
  EXPECT_THAT(Epochs(best.Add({11, 1})), ElementsAre(11));
  EXPECT_THAT(Epochs(best.Add({12, 0.5})), ElementsAre(12));
  EXPECT_EQ(best.models().size(), 10u);
}

TEST(BestModels, KnowsWhenLessIsBetter) {
  BestModels best = Ten(false);
  EXPECT_FALSE(best.Takes(10));
  EXPECT_THAT(Epochs(best.Add({11, 0.5})), ElementsAre(10));
}

TEST(BestModels, NeverTakesWhatIsNotANumber) {
  BestModels best;
  EXPECT_FALSE(best.Takes(std::nan("")));
  EXPECT_THAT(Epochs(best.Add({1, std::nan("")})), ElementsAre(1));
  EXPECT_TRUE(best.models().empty());
}

TEST(BestModels, HasOneOfAnEpochThatIsRepeated) {
  BestModels best;
  EXPECT_TRUE(best.Add({2, 0.5}).empty());
  EXPECT_TRUE(best.Add({1, 0.25}).empty());
  EXPECT_TRUE(best.Add({2, 0.75}).empty());
  ASSERT_THAT(Epochs(best.models()), ElementsAre(1, 2));
  EXPECT_EQ(best.models()[1].value, 0.75);
}

}  // namespace
}  // namespace slipway::loop
