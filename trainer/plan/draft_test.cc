#include "trainer/plan/draft.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plan/plan_testutil.h"

namespace slipway::plan {
namespace {

using recipe::Node;
using ::testing::ElementsAre;

// A draft with `acme` in the plan, and what it is made from.
class DraftTest : public ::testing::Test {
 protected:
  DraftTest()
      : manifests_({MakeManifest("com.acme",
                                 "config: {x: {type: map, "
                                 "default: {rate: 1}, help: h}}"),
                    MakeManifest("amp"),
                    MakeManifest("com.acme.x",
                                 "config: {rate: {type: int, "
                                 "default: 2, help: h}}")}),
        recipe_(MakeRecipe("hyper: {lr: 0.1}\namp: {lr: 3}\n"
                           "com.acme.x: {rate: 9}")) {
    here_.world_size = 4;
  }

  const std::vector<Manifest> manifests_;
  const Node recipe_;
  Environment here_;
  const std::vector<std::string> searched_;
  Problems problems_;
  Draft draft_{manifests_, recipe_, here_, searched_, problems_};
};

TEST_F(DraftTest, ListsItsManifestsById) {
  EXPECT_THAT(draft_.Ids(), ElementsAre("amp", "com.acme", "com.acme.x"));
  EXPECT_EQ(draft_.FindManifest("com.acme"), &manifests_[0]);
  EXPECT_EQ(draft_.FindManifest("com"), nullptr);
}

TEST_F(DraftTest, KnowsTheEnvironmentFirst) {
  EXPECT_EQ(draft_.ValueOf("world_size"), Node::Int(4));
  EXPECT_EQ(draft_.ValueOf("device"), Node::String("cpu"));
  EXPECT_EQ(draft_.ValueOf("cpu_bf16"), Node::Bool(false));
}

TEST_F(DraftTest, SaysOfAPluginWhetherItIsInThePlan) {
  EXPECT_EQ(draft_.ValueOf("amp"), Node::Bool(false));
  draft_.Add(manifests_[1], Because::kRecipe, {});
  EXPECT_EQ(draft_.ValueOf("amp"), Node::Bool(true));
}

TEST_F(DraftTest, ReadsAPluginsConfigurationBeforeTheRecipe) {
  EXPECT_TRUE(draft_.ValueOf("amp.lr").is_null());
  EXPECT_TRUE(draft_.ValueOf("com.acme.x.rate").is_null());
  draft_.Add(manifests_[0], Because::kRecipe, {});
  // The longer id has nothing to say while it is not in the plan.
  EXPECT_TRUE(draft_.ValueOf("com.acme.x.rate").is_null());
  draft_.Add(manifests_[2], Because::kRecipe, {});
  EXPECT_EQ(draft_.ValueOf("com.acme.x.rate"), Node::Int(2));
}

TEST_F(DraftTest, ReadsTheRecipeForAllOtherNames) {
  EXPECT_EQ(draft_.ValueOf("hyper.lr"), Node::Float(0.1));
  EXPECT_TRUE(draft_.ValueOf("hyper.absent").is_null());
  EXPECT_TRUE(draft_.ValueOf("absent").is_null());
}

TEST_F(DraftTest, HoldsWithoutAPredicate) {
  EXPECT_TRUE(draft_.Holds({}));
  EXPECT_TRUE(draft_.Holds(*Predicate::Parse("hyper.lr < 1")));
  EXPECT_FALSE(draft_.Holds(*Predicate::Parse("hyper.lr > 1")));
}

TEST_F(DraftTest, FindsOthersByIdAndByWhatTheyProvide) {
  const std::vector<Manifest> manifests = {
      MakeManifest("a", "provides: [thing]"),
      MakeManifest("b", "provides: [thing]")};
  Draft draft(manifests, recipe_, here_, searched_, problems_);
  draft.Add(manifests[0], Because::kRecipe, {});
  draft.Add(manifests[1], Because::kRecipe, {});
  const Chosen& a = draft.chosen[0];
  const Chosen& b = draft.chosen[1];
  EXPECT_THAT(draft.Others(a, "thing"), ElementsAre(&b));
  EXPECT_THAT(draft.Others(a, "a"), ElementsAre());
  EXPECT_THAT(draft.Others(a, "b"), ElementsAre(&b));
}

}  // namespace
}  // namespace slipway::plan
