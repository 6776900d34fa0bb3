#include "trainer/inspect/request.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

InspectRequest Parse(const std::vector<std::string>& arguments) {
  Problems problems;
  const InspectRequest request = ParseInspect(arguments, problems);
  EXPECT_EQ(FormatProblems(problems), "");
  return request;
}

std::string Mistakes(const std::vector<std::string>& arguments) {
  Problems problems;
  ParseInspect(arguments, problems);
  return FormatProblems(problems);
}

TEST(ParseInspect, FindsWhatIsAsked) {
  EXPECT_EQ(Parse({}).subject, Subject::kPlugins);
  EXPECT_EQ(Parse({"--json"}).subject, Subject::kPlugins);
  EXPECT_EQ(Parse({"ema"}).subject, Subject::kPlugin);
  EXPECT_EQ(Parse({"--plan=x"}).subject, Subject::kPlan);
  EXPECT_EQ(Parse({"--why", "a", "b"}).subject, Subject::kWhy);
  EXPECT_EQ(Parse({"--abi", "a.so"}).subject, Subject::kAbi);
  EXPECT_EQ(Parse({"--graph"}).subject, Subject::kGraph);
  EXPECT_EQ(Parse({"--graph", "--plan=x"}).subject, Subject::kGraph);
  EXPECT_EQ(Parse({"--schema"}).subject, Subject::kSchema);
  EXPECT_EQ(Parse({"--help", "--plan=x"}).subject, Subject::kHelp);
}

TEST(ParseInspect, GivesArgumentsToWhatIsAsked) {
  EXPECT_EQ(Parse({"ema", "--json"}).id, "ema");
  EXPECT_EQ(Parse({"--abi=a.so"}).library, "a.so");
  const InspectRequest plan = Parse(
      {"--plan", "digits", "epochs=3", "--plugin_path=a:b", "--device=cpu"});
  EXPECT_EQ(plan.training.recipe, "digits");
  EXPECT_THAT(plan.training.overrides, ElementsAre("epochs=3"));
  EXPECT_THAT(plan.training.plugin_path, ElementsAre("a", "b"));
  EXPECT_EQ(plan.training.device, "cpu");
  const InspectRequest why = Parse({"--why", "a", "b", "plugins.a.x=1"});
  EXPECT_EQ(why.id, "a");
  EXPECT_EQ(why.other, "b");
  EXPECT_THAT(why.training.overrides, ElementsAre("plugins.a.x=1"));
  EXPECT_THAT(Parse({"ema"}).training.overrides, IsEmpty());
}

TEST(ParseInspect, RefusesWhatItCannotAnswer) {
  EXPECT_THAT(Mistakes({"--plann=x"}), HasSubstr("did you mean \"plan\"?"));
  EXPECT_THAT(Mistakes({"--plan=x", "--abi=y"}),
              HasSubstr("--plan and --abi exclude each other"));
  EXPECT_THAT(Mistakes({"--graph", "--why", "a", "b"}),
              HasSubstr("--graph and --why exclude each other"));
  EXPECT_THAT(Mistakes({"--why", "a"}),
              HasSubstr("--why a needs another plugin"));
  EXPECT_THAT(Mistakes({"--why", "a", "a"}),
              HasSubstr("--why a needs another plugin"));
  EXPECT_THAT(Mistakes({"ema", "amp"}), HasSubstr("too many arguments: amp"));
  EXPECT_THAT(Mistakes({"--abi=a.so", "b.so"}),
              HasSubstr("too many arguments: b.so"));
}

TEST(InspectHelp, ShowsExamples) {
  EXPECT_THAT(InspectHelp(), HasSubstr("--why ema compile"));
  EXPECT_THAT(InspectHelp(), HasSubstr("--plugin_path=DIR[:DIR]"));
}

}  // namespace
}  // namespace slipway::inspect
