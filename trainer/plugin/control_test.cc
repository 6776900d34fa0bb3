#include "trainer/plugin/control.h"

#include "gtest/gtest.h"

namespace slipway {
namespace {

TEST(Control, KeepsTheFirstReason) {
  Control control;
  EXPECT_FALSE(control.stop());
  control.RequestStop("plateau");
  control.RequestStop("bored");
  control.SkipStep("nan");
  control.SkipStep("inf");
  EXPECT_TRUE(control.stop());
  EXPECT_EQ(control.stop_reason(), "plateau");
  EXPECT_TRUE(control.skip());
  EXPECT_EQ(control.skip_reason(), "nan");
}

TEST(Control, ForgetsAllButAStopWhenAStepIsOver) {
  Control control;
  control.RequestSave();
  control.RequestEvaluate();
  control.SkipStep("nan");
  control.RequestStop("plateau");
  control.ClearStepRequests();
  EXPECT_FALSE(control.save());
  EXPECT_FALSE(control.evaluate());
  EXPECT_FALSE(control.skip());
  EXPECT_EQ(control.skip_reason(), "");
  EXPECT_TRUE(control.stop());
}

}  // namespace
}  // namespace slipway
