#include "trainer/plugin/components.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;
using Numbers = Registry<std::function<int()>>;

TEST(Registry, FindsExactlyElseWithoutCaseAndSeparators) {
  Numbers numbers;
  EXPECT_TRUE(numbers.Add("cross_entropy", [] { return 1; }));
  EXPECT_TRUE(numbers.Add("CrossEntropy", [] { return 2; }));
  EXPECT_EQ((*numbers.Find("CrossEntropy"))(), 2);
  EXPECT_EQ((*numbers.Find("cross-entropy"))(), 1);
  EXPECT_EQ(numbers.Find("entropy"), nullptr);
}

TEST(Registry, RefusesANameThatIsTaken) {
  Numbers numbers;
  EXPECT_TRUE(numbers.Add("b", [] { return 1; }));
  EXPECT_FALSE(numbers.Add("b", [] { return 2; }));
  EXPECT_TRUE(numbers.Add("a", [] { return 3; }));
  EXPECT_EQ((*numbers.Find("b"))(), 1);
  EXPECT_THAT(numbers.names(), ElementsAre("b", "a"));
}

}  // namespace
}  // namespace slipway
