// In which order plugins are called, seen through the plan.
#include "trainer/plan/order.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plan/plan.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> OrderOf(const std::vector<Manifest>& manifests,
                                 const std::string& section,
                                 const std::string& hook = "FitBegin") {
  return MustResolve(manifests, MakeRecipe("plugins: {" + section + "}"))
      .order[hook];
}

TEST(Order, IsThatOfTheRecipe) {
  const std::vector<Manifest> manifests = {MakeManifest("a"), MakeManifest("b"),
                                           MakeManifest("c")};
  EXPECT_THAT(OrderOf(manifests, "c: {}, a: {}, b: {}"),
              ElementsAre("c", "a", "b"));
}

TEST(Order, ObeysBeforeAndAfter) {
  const std::vector<Manifest> manifests = {MakeManifest("a", "after: [c]"),
                                           MakeManifest("b"), MakeManifest("c"),
                                           MakeManifest("d", "before: [b]")};
  EXPECT_THAT(OrderOf(manifests, "a: {}, b: {}, c: {}, d: {}"),
              ElementsAre("c", "a", "d", "b"));
}

TEST(Order, MovesNobodyElse) {
  const std::vector<Manifest> manifests = {MakeManifest("a", "after: [d]"),
                                           MakeManifest("b"), MakeManifest("c"),
                                           MakeManifest("d")};
  EXPECT_THAT(OrderOf(manifests, "b: {}, a: {}, c: {}, d: {}"),
              ElementsAre("b", "d", "a", "c"));
}

TEST(Order, ReachesWhoeverProvidesAThing) {
  const std::vector<Manifest> manifests = {
      MakeManifest("a", "after: [norm]"), MakeManifest("b", "provides: [norm]"),
      MakeManifest("c", "provides: [norm]")};
  EXPECT_THAT(OrderOf(manifests, "a: {}, b: {}, c: {}"),
              ElementsAre("b", "c", "a"));
}

TEST(Order, IgnoresThoseThatAreNotThere) {
  EXPECT_THAT(OrderOf({MakeManifest("a", "after: [x]\nbefore: [y]")}, "a: {}"),
              ElementsAre("a"));
}

TEST(Order, HoldsAcrossAPluginWithoutTheHook) {
  const std::vector<Manifest> manifests = {
      MakeManifest("a", "after: [b]"),
      MakeManifest("b", "after: [c]\nhooks: [EpochBegin]"), MakeManifest("c")};
  EXPECT_THAT(OrderOf(manifests, "a: {}, b: {}, c: {}"), ElementsAre("c", "a"));
}

TEST(Order, IsReversedForHooksThatClose) {
  const char kAll[] =
      "hooks: [FitBegin, EpochBegin, AfterOptimizer, EvalBatchEnd, MicroEnd, "
      "StepEnd, EpochEnd, EvalEnd, AfterSave, FitEnd, OnFailure, Close]";
  const std::vector<Manifest> manifests = {MakeManifest("a", kAll),
                                           MakeManifest("b", kAll)};
  Plan plan = MustResolve(manifests, MakeRecipe("plugins: {a: {}, b: {}}"));
  for (const char* hook :
       {"FitBegin", "EpochBegin", "AfterOptimizer", "EvalBatchEnd"}) {
    EXPECT_THAT(plan.order[hook], ElementsAre("a", "b")) << hook;
  }
  for (const char* hook : {"MicroEnd", "StepEnd", "EpochEnd", "EvalEnd",
                           "AfterSave", "FitEnd", "OnFailure", "Close"}) {
    EXPECT_THAT(plan.order[hook], ElementsAre("b", "a")) << hook;
  }
  EXPECT_EQ(plan.order.count("StepBegin"), 0u);
}

TEST(Order, NamesTheCycleAloneOfAllThatLedThere) {
  const std::string said = MustFail(
      {MakeManifest("a", "after: [b]"), MakeManifest("b", "after: [c]"),
       MakeManifest("c", "after: [d]"), MakeManifest("d", "after: [b]")},
      MakeRecipe("plugins: {a: {}, b: {}, c: {}, d: {}}"));
  EXPECT_THAT(said, HasSubstr("has a cycle: b -> d -> c -> b\n"));
}

}  // namespace
}  // namespace slipway::plan
