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
  };
  for (const WrongCase& c : cases) {
    Problems problems;
    ParseFlags(c.arguments, problems);
    EXPECT_EQ(problems.size(), 1u) << c.message;
    EXPECT_THAT(FormatProblems(problems), HasSubstr(c.message));
  }
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
