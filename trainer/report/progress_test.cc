#include "trainer/report/progress.h"

#include <sstream>

#include "gtest/gtest.h"

namespace slipway {
namespace {

class ProgressTest : public testing::Test {
 protected:
  ConsoleOptions Options(ConsoleOptions::Progress progress) {
    return {
        .progress = progress, .width = 50, .clock = [this] { return now_; }};
  }

  std::ostringstream out_;
  double now_ = 0;
};

TEST_F(ProgressTest, PrintsALineNowAndThen) {
  Progress progress(out_, Options(ConsoleOptions::Progress::kLines),
                    "epoch 1/3", 40);
  for (int i = 0; i < 20; ++i) {
    now_ += 0.5;
    progress.Advance({{"loss", 1.0 / (i + 1)}});
  }
  EXPECT_EQ(out_.str(),
            "epoch 1/3  [>                     ]  1/40  loss 1.0000  2/s\n"
            "epoch 1/3  [=====>                ]  11/40  loss 0.0909  2/s\n");
}

TEST_F(ProgressTest, RedrawsOneLineAndTakesItAway) {
  {
    Progress progress(out_, Options(ConsoleOptions::Progress::kBar), "valid",
                      2);
    progress.Advance();
    now_ += 0.05;
    progress.Advance();  // too soon
  }
  EXPECT_EQ(out_.str(), "\rvalid  [==========>           ]  1/2\r" +
                            std::string(36, ' ') + "\r");
}

TEST_F(ProgressTest, ShowsNothingWhenAskedForNothing) {
  {
    Progress progress(out_, Options(ConsoleOptions::Progress::kNone), "train",
                      2);
    progress.Advance({{"loss", 1}});
  }
  EXPECT_EQ(out_.str(), "");
}

TEST(ProgressBar, StaysWithinItsEnds) {
  EXPECT_EQ(ProgressBar(0, 0), "[                      ]");
  EXPECT_EQ(ProgressBar(3, 3), "[======================]");
  EXPECT_EQ(ProgressBar(9, 3), "[======================]");
}

TEST(ShortNumber, HasThreeDigits) {
  EXPECT_EQ(ShortNumber(950), "950");
  EXPECT_EQ(ShortNumber(9100), "9.1k");
  EXPECT_EQ(ShortNumber(1.2e6), "1.2M");
}

}  // namespace
}  // namespace slipway
