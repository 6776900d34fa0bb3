#include "trainer/loop/profiled_steps.h"

#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

TEST(ProfiledSteps, AreACountOrARange) {
  EXPECT_EQ(ParseProfiledSteps("10"),
            (ProfiledSteps{.first = 2, .count = 10, .from_start = true}));
  EXPECT_EQ(ParseProfiledSteps("5-15"),
            (ProfiledSteps{.first = 5, .count = 11}));
  EXPECT_EQ(ParseProfiledSteps("0-0"), (ProfiledSteps{.first = 0, .count = 1}));
}

TEST(ProfiledSteps, AreNothingElse) {
  for (const char* text : {"", "0", "-", "5-", "-5", "6-5", "1-2-3", "ten",
                           "1.5", "+5", " 5", "99999999999999999999"}) {
    EXPECT_FALSE(ParseProfiledSteps(text)) << text;
  }
}

}  // namespace
}  // namespace slipway::loop
