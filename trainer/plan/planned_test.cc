#include "trainer/plan/planned.h"

#include "gtest/gtest.h"

namespace slipway::plan {
namespace {

TEST(Names, AreThoseOfTheJson) {
  EXPECT_EQ(Name(OnError::kFail), "fail");
  EXPECT_EQ(Name(OnError::kWarn), "warn");
  EXPECT_EQ(Name(OnError::kDisable), "disable");
  EXPECT_EQ(Name(Because::kRecipe), "recipe");
  EXPECT_EQ(Name(Because::kRecipeKey), "recipe_key");
  EXPECT_EQ(Name(Because::kRequires), "requires");
  EXPECT_EQ(Name(Because::kComponent), "component");
  EXPECT_EQ(Name(Status::kStable), "stable");
  EXPECT_EQ(Name(Status::kAlpha), "alpha");
  EXPECT_EQ(Name(Status::kPlanned), "planned");
  EXPECT_EQ(Name(Status::kDeprecated), "deprecated");
}

}  // namespace
}  // namespace slipway::plan
