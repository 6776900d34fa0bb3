#include "trainer/planned_rates.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SpreadSteps, HasTheFirstAndTheLast) {
  EXPECT_THAT(SpreadSteps(101, 5), ElementsAre(0, 25, 50, 75, 100));
  EXPECT_THAT(SpreadSteps(10, 4), ElementsAre(0, 3, 6, 9));
}

TEST(SpreadSteps, HasAllOfAShortTraining) {
  EXPECT_THAT(SpreadSteps(3, 12), ElementsAre(0, 1, 2));
  EXPECT_THAT(SpreadSteps(1, 12), ElementsAre(0));
  EXPECT_THAT(SpreadSteps(0, 12), IsEmpty());
}

}  // namespace
}  // namespace slipway
