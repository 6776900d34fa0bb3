#include "trainer/plan/names.h"

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace slipway {
namespace {

TEST(ComponentKey, DropsCaseAndSeparators) {
  EXPECT_EQ(ComponentKey("Cross_Entropy-Loss"), "crossentropyloss");
  EXPECT_EQ(ComponentKey("RMSpropTF"), ComponentKey("rms_prop_tf"));
  EXPECT_EQ(ComponentKey("vit base.16"), "vitbase16");
  EXPECT_EQ(ComponentKey("größe"), "größe");
  EXPECT_EQ(ComponentKey(""), "");
}

TEST(MatchName, PrefersTheExactName) {
  const std::vector<std::string> known = {"step_lr", "Step_LR", "StepLR"};
  EXPECT_EQ(MatchName("StepLR", known), 2);
  EXPECT_EQ(MatchName("Step_LR", known), 1);
}

TEST(MatchName, FallsBackToTheFirstWithTheSameKey) {
  EXPECT_EQ(MatchName("pp_yoloe_s", {"resnet50", "ppyoloe_s"}), 1);
  EXPECT_EQ(MatchName("STEPLR", {"step_lr", "StepLR"}), 0);
}

TEST(MatchName, FindsNothingElse) {
  EXPECT_EQ(MatchName("resnet5", {"resnet50"}), std::nullopt);
  EXPECT_EQ(MatchName("resnet50", {}), std::nullopt);
}

}  // namespace
}  // namespace slipway
