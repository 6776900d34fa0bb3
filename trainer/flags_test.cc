#include "trainer/flags.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Flags, SplitPathsAndKeepOverrides) {
  Problems problems;
  const Flags flags =
      ParseFlags({"--recipe=x", "--recipe_path=a:b", "--plugin_path=c",
                  "epochs=3", "--device=cpu", "~plugins.ema"},
                 problems);
  EXPECT_EQ(FormatProblems(problems), "");
  EXPECT_EQ(flags.recipe, "x");
  EXPECT_THAT(flags.recipe_path, ElementsAre("a", "b"));
  EXPECT_THAT(flags.plugin_path, ElementsAre("c"));
  EXPECT_THAT(flags.overrides, ElementsAre("epochs=3", "~plugins.ema"));
  EXPECT_EQ(flags.device, "cpu");
}

struct WrongCase {
  std::vector<std::string> arguments;
  std::string message;
};

TEST(Flags, RefuseWhatTheyDoNotKnow) {
  const WrongCase cases[] = {
      {{}, "no recipe"},
      {{"--recipe=x", "--devise=cpu"}, "did you mean \"device\"?"},
      {{"--recipe=x", "--device=tpu"}, "it is one of auto, cpu, cuda"},
      {{"--recipe=x", "--print_recipe=toml"}, "it is one of yaml, json"},
      {{"--recipe=x", "--profile=ten"}, "--profile=ten: these are no steps"},
      {{"--recipe=x", "--replay=run"}, "--replay and --recipe exclude"},
      {{"--replay=run", "--run_dir=y"}, "--replay and --run_dir exclude"},
      {{"--replay=run", "--until=half"}, "--until is \"half\""},
      {{"--replay=run", "--until=-1"}, "--until is \"-1\""},
      {{"--recipe=x", "--until=3"}, "--until without --replay"},
  };
  for (const WrongCase& c : cases) {
    Problems problems;
    ParseFlags(c.arguments, problems);
    EXPECT_EQ(problems.size(), 1u) << c.message;
    EXPECT_THAT(FormatProblems(problems), HasSubstr(c.message));
  }
}

TEST(Flags, TakeTheRecipeOfARunThatIsReplayed) {
  Problems problems;
  const Flags flags = ParseFlags({"--replay=runs/1", "--until=30"}, problems);
  EXPECT_EQ(FormatProblems(problems), "");
  EXPECT_EQ(flags.recipe, "runs/1/recipe.yaml");
  EXPECT_EQ(flags.until, 30);
}

TEST(Flags, NeedNoRecipeForHelp) {
  Problems problems;
  EXPECT_TRUE(ParseFlags({"--help"}, problems).help);
  EXPECT_TRUE(problems.empty());
}

TEST(Flags, ExplainThemselves) {
  const std::string help = FlagsHelp();
  EXPECT_THAT(help, HasSubstr("--recipe=digits_resnet"));
  EXPECT_THAT(help, HasSubstr("--print_recipe=yaml|json"));
}

}  // namespace
}  // namespace slipway
