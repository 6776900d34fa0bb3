#include "trainer/flag_set.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using testing::ElementsAre;

struct Parsed {
  std::string recipe = "default";
  std::string format = "text";
  bool dry_run = false;
  std::vector<std::string> positional;
  std::string problems;
};

Parsed Parse(const std::vector<std::string>& arguments) {
  Parsed parsed;
  FlagSet flags;
  flags.Text("recipe", "NAME|FILE", "what to train", &parsed.recipe);
  flags.Text("format", "text|json", "how to print", &parsed.format,
             {"text", "json"});
  flags.Switch("dry_run", "show the plan", &parsed.dry_run);
  Problems problems;
  parsed.positional = flags.Parse(arguments, problems);
  parsed.problems = FormatProblems(problems);
  return parsed;
}

TEST(FlagSet, KeepsDefaultsOfWhatIsAbsent) {
  const Parsed parsed = Parse({});
  EXPECT_EQ(parsed.recipe, "default");
  EXPECT_FALSE(parsed.dry_run);
  EXPECT_EQ(parsed.problems, "");
}

TEST(FlagSet, TakesEveryWayToWriteAFlag) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--recipe=x", "--dry_run"},
                                             {"--recipe", "x", "-dry_run"},
                                             {"-recipe=x", "--dry_run=true"},
                                             {"--dry_run=1", "-recipe", "x"}}) {
    const Parsed parsed = Parse(arguments);
    EXPECT_EQ(parsed.problems, "");
    EXPECT_EQ(parsed.recipe, "x") << arguments[0];
    EXPECT_TRUE(parsed.dry_run) << arguments[0];
  }
}

TEST(FlagSet, SwitchesOffAgain) {
  EXPECT_FALSE(Parse({"--dry_run", "--nodry_run"}).dry_run);
  EXPECT_FALSE(Parse({"--dry_run", "--dry_run=false"}).dry_run);
}

TEST(FlagSet, LeavesPositionalArgumentsInOrder) {
  const Parsed parsed =
      Parse({"a.b=1", "--recipe=x", "~c", "+d=2", "--", "--dry_run", "-"});
  EXPECT_THAT(parsed.positional,
              ElementsAre("a.b=1", "~c", "+d=2", "--dry_run", "-"));
  EXPECT_FALSE(parsed.dry_run);
}

TEST(FlagSet, KeepsEqualSignsOfAValue) {
  EXPECT_EQ(Parse({"--recipe=a=b"}).recipe, "a=b");
  EXPECT_EQ(Parse({"--recipe="}).recipe, "");
}

TEST(FlagSet, TellsEveryMistakeAtOnceWithItsPlace) {
  EXPECT_EQ(Parse({"--recpie=x", "ok=1", "--format=xml", "--dry_run=maybe",
                   "--recipe"})
                .problems,
            R"(error: no flag "--recpie"
  where:  command line
  hint:   did you mean "recipe"?
error: --format cannot be "xml"
  where:  command line
  hint:   it is one of text, json
error: --dry_run is on or off, not "maybe"
  where:  command line
  hint:   write --dry_run or --nodry_run
error: --recipe has no value
  where:  command line
  hint:   write --recipe=NAME|FILE
)");
}

TEST(FlagSet, ListsFlagsWithTheirForm) {
  FlagSet flags;
  std::string text;
  bool on = false;
  flags.Text("recipe", "NAME|FILE", "what to train", &text);
  flags.Switch("dry_run", "show the plan", &on);
  EXPECT_EQ(flags.Help(),
            "  --recipe=NAME|FILE             what to train\n"
            "  --dry_run                      show the plan\n");
}

}  // namespace
}  // namespace slipway
