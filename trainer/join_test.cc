#include "trainer/join.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/dist/ranks.h"

namespace slipway {
namespace {

using recipe::Node;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// A recipe with one hyperparameter.
Node RecipeWith(const std::string& key, Node value) {
  Node section = Node::Map();
  section.Set(key, std::move(value));
  Node recipe = Node::Map();
  recipe.Set("training_hyperparams", std::move(section));
  return recipe;
}

TEST(Join, IsDoneWhereThereIsNobodyElse) {
  dist::ProcessGroup alone;
  Problems problems;
  EXPECT_TRUE(Join(alone, at::kCPU, Node::Map(), problems));
  EXPECT_TRUE(AllReady(alone, problems));
  EXPECT_TRUE(problems.empty());
}

TEST(Join, NamesWhatDiffersBetweenTheRecipes) {
  const auto said = Said(RunRanks(
      3,
      [](dist::ProcessGroup& group, std::ostream& out) {
        Problems problems;
        const bool joined = Join(
            group, at::kCPU,
            RecipeWith("initial_lr", Node::Float(group.rank() == 2 ? 2 : 1)),
            problems);
        out << joined << FormatProblems(problems);
      },
      {.connect = false}));
  EXPECT_THAT(
      said,
      Each(AllOf(HasSubstr("0error: rank 2 has another recipe than rank 0"),
                 HasSubstr("training_hyperparams.initial_lr: 1"))));
}

TEST(Join, TellsWhoDidNotCome) {
  const auto ranks =
      RunRanks(2,
               [](dist::ProcessGroup& group, std::ostream& out) {
                 if (group.rank() == 1) return;
                 Problems problems;
                 Join(group, at::kCPU, Node::Map(), problems);
                 out << problems.at(0).kind << " " << problems.at(0).detail;
               },
               {.timeout = std::chrono::seconds(1), .connect = false});
  EXPECT_THAT(ranks[0].said, HasSubstr("peer rank 1 of 2 did not come"));
}

TEST(AllReady, TellsTheOthersOfARanksError) {
  const auto said =
      Said(RunRanks(3, [](dist::ProcessGroup& group, std::ostream& out) {
        Problems problems;
        if (group.rank() == 1) {
          problems.push_back({.kind = "data",
                              .message = "no samples",
                              .detail = "the folder is empty"});
        }
        out << AllReady(group, problems) << " " << FormatProblems(problems);
      }));
  const auto heard = AllOf(HasSubstr("0 error: rank 1 cannot start"),
                           HasSubstr("no samples: the folder is empty"));
  EXPECT_THAT(said,
              ElementsAre(heard, HasSubstr("0 error: no samples"), heard));
}

TEST(AllReady, KeepsWarningsWhereTheyAre) {
  const auto said = Said(RunRanks(2, [](dist::ProcessGroup& group,
                                        std::ostream& out) {
    Problems problems;
    if (group.rank() == 1) {
      problems.push_back({.severity = Severity::kWarning, .message = "slow"});
    }
    out << AllReady(group, problems) << " " << problems.size();
  }));
  EXPECT_THAT(said, ElementsAre("1 0", "1 1"));
}

TEST(FindRunPlaceTogether, TakesRankZerosFolder) {
  const std::string root = testing::TempDir();
  const auto said =
      Said(RunRanks(2, [&](dist::ProcessGroup& group, std::ostream& out) {
        const RunFolderRequest folder = {
            .run_dir = absl::StrCat(root, "/run_of_", group.rank()),
            .ckpt_root_dir = "",
            .experiment_name = "test"};
        Problems problems;
        const std::optional<RunPlace> place = FindRunPlaceTogether(
            group, Node::Map(), folder, absl::Now(), problems);
        out << place->dir << place->checkpoint << problems.size();
      }));
  EXPECT_THAT(said, Each(AllOf(HasSubstr("run_of_00"))));
}

TEST(FindRunPlaceTogether, RefusesOnAllRanksWhatRankZeroRefuses) {
  const auto said =
      Said(RunRanks(2, [&](dist::ProcessGroup& group, std::ostream& out) {
        Problems problems;
        const std::optional<RunPlace> place = FindRunPlaceTogether(
            group, RecipeWith("resume_path", Node::String("/nowhere.pth")),
            {.run_dir = "run", .ckpt_root_dir = "", .experiment_name = ""},
            absl::Now(), problems);
        out << place.has_value() << FormatProblems(problems);
      }));
  EXPECT_THAT(said, Each(HasSubstr("there is no checkpoint /nowhere.pth")));
  EXPECT_THAT(said[1], HasSubstr("0error: rank 0 cannot start"));
}

TEST(CheckLaunchedPlan, RefusesAnotherPlanThanTheLaunchersOnly) {
  plan::Plan plan;
  plan.hash = "abc";
  Problems problems;
  CheckLaunchedPlan(dist::ProcessGroup(), plan, problems);
  dist::Environment environment;
  environment.plan_hash = "abc";
  CheckLaunchedPlan(dist::ProcessGroup(environment), plan, problems);
  EXPECT_TRUE(problems.empty());
  environment.plan_hash = "def";
  CheckLaunchedPlan(dist::ProcessGroup(environment), plan, problems);
  EXPECT_THAT(FormatProblems(problems),
              AllOf(HasSubstr("not the one that the launcher has shown"),
                    HasSubstr("SLIPWAY_PLAN_HASH is def")));
}

}  // namespace
}  // namespace slipway
