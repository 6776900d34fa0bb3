#include "launcher/training.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// This repository's own.
Locations Here() {
  Locations here;
  here.recipe_folders = {"recipes"};
  here.plugin_folders = {"plugins"};
  return here;
}

Training Read(const std::vector<std::string>& arguments) {
  Problems problems;
  std::optional<Training> training = ReadTraining(arguments, Here(), problems);
  EXPECT_TRUE(training) << FormatProblems(problems);
  return *training;
}

std::string Refused(const std::vector<std::string>& arguments) {
  Problems problems;
  EXPECT_FALSE(ReadTraining(arguments, Here(), problems));
  return FormatProblems(problems);
}

TEST(ReadTraining, KnowsTheBatch) {
  const Training training = Read({"--recipe=digits_resnet", "batch_size=32",
                                  "training_hyperparams.batch_accumulate=2"});
  ASSERT_TRUE(training.batch);
  EXPECT_EQ(training.batch->per_rank, 32);
  EXPECT_EQ(training.batch->Effective(4), 256);
}

TEST(ReadTraining, KnowsHowManyProcessesAreAskedFor) {
  EXPECT_EQ(Read({"--recipe=digits_resnet"}).processes_asked, 1);
  EXPECT_EQ(Read({"--recipe=digits_resnet", "+multi_gpu=DDP", "+num_gpus=4"})
                .processes_asked,
            4);
}

TEST(ReadTraining, TellsWhatTheTrainerWould) {
  EXPECT_THAT(Refused({"--recip=digits_resnet"}), HasSubstr("\"recipe\""));
  EXPECT_THAT(Refused({"--recipe=digits_resnett"}),
              HasSubstr("did you mean \"digits_resnet\"?"));
  EXPECT_THAT(
      Refused({"--recipe=digits_resnet", "+training_hyperparams.emma=1"}),
      HasSubstr("emma"));
}

TEST(ReadTraining, StartsNothingForHelp) {
  EXPECT_THAT(Refused({"--help"}), HasSubstr("bazel run //trainer -- --help"));
  EXPECT_THAT(Refused({"--recipe=digits_resnet", "--print_recipe=yaml"}),
              HasSubstr("--print_recipe starts no training"));
}

TEST(PlanPlugins, FindsConflictsBeforeAnythingStarts) {
  const Training training =
      Read({"--recipe=digits_resnet", "+plugins.no_such_plugin={}"});
  Problems problems;
  EXPECT_FALSE(PlanPlugins(training, {.world_size = 2}, problems));
  EXPECT_THAT(FormatProblems(problems), HasSubstr("no_such_plugin"));
}

TEST(PlanPlugins, DependsOnTheRanks) {
  const Training training =
      Read({"--recipe=digits_resnet", "training_hyperparams.sync_bn=True"});
  Problems problems;
  const auto warnings = [&](int world_size) {
    const auto plan =
        PlanPlugins(training, {.world_size = world_size}, problems);
    return plan ? FormatProblems(plan->problems) : "no plan";
  };
  EXPECT_THAT(warnings(1), HasSubstr("syncbn"));
  EXPECT_NE(warnings(1), warnings(2));
  EXPECT_THAT(problems, IsEmpty()) << FormatProblems(problems);
}

}  // namespace
}  // namespace slipway::launcher
