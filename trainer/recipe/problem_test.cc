#include "trainer/recipe/problem.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace slipway {
namespace {

Problem Full() {
  return {.kind = "conflict",
          .severity = Severity::kError,
          .message = "plugins \"ema\" and \"compile\" exclude each other",
          .detail = "first line\nsecond line",
          .where = {{"recipes/x.yaml", 14, 3}, {"", 0, 0}, {"p.yaml", 2, 0}},
          .hint = "drop one of them",
          .plugins = {"ema", "compile"},
          .hook = "StepEnd",
          .step = 12,
          .rank = 1};
}

Problem Brief(Severity severity, std::string message) {
  return {
      .kind = "recipe", .severity = severity, .message = std::move(message)};
}

TEST(Mark, PrintsWhatIsKnown) {
  EXPECT_EQ(ToString(Mark{"recipes/x.yaml", 14, 3}), "recipes/x.yaml:14:3");
  EXPECT_EQ(ToString(Mark{"recipes/x.yaml", 14, 0}), "recipes/x.yaml:14");
  EXPECT_EQ(ToString(Mark{"command line", 0, 2}), "command line");
  EXPECT_EQ(ToString(Mark{}), "");
}

TEST(Problem, PrintsFourPartsUnderEachOther) {
  EXPECT_EQ(FormatProblem(Full()),
            "error: plugins \"ema\" and \"compile\" exclude each other\n"
            "  detail: first line\n"
            "          second line\n"
            "  where:  recipes/x.yaml:14:3, p.yaml:2\n"
            "  hint:   drop one of them\n");
}

TEST(Problem, LeavesOutEmptyParts) {
  EXPECT_EQ(FormatProblem(Brief(Severity::kNote, "no effect")),
            "note: no effect\n");
}

TEST(Problems, PrintErrorsFirstEachGroupInItsOrder) {
  const Problems problems = {
      Brief(Severity::kNote, "n1"), Brief(Severity::kError, "e1"),
      Brief(Severity::kWarning, "w1"), Brief(Severity::kError, "e2")};
  EXPECT_EQ(FormatProblems(problems),
            "error: e1\nerror: e2\nwarning: w1\nnote: n1\n");
}

TEST(Problems, AreFatalOnlyWithAnError) {
  const Problems harmless = {Brief(Severity::kNote, "n"),
                             Brief(Severity::kWarning, "w")};
  EXPECT_FALSE(HasErrors({}));
  EXPECT_FALSE(HasErrors(harmless));
  EXPECT_TRUE(ToStatus(harmless).ok());

  Problems fatal = harmless;
  fatal.push_back(Brief(Severity::kError, "e"));
  EXPECT_TRUE(HasErrors(fatal));
  EXPECT_EQ(ToStatus(fatal), absl::FailedPreconditionError("error: e\n"));
}

TEST(Problem, HasEveryFieldInJson) {
  EXPECT_EQ(ToJson(Full()), nlohmann::json::parse(R"({
    "kind": "conflict", "severity": "error",
    "message": "plugins \"ema\" and \"compile\" exclude each other",
    "detail": "first line\nsecond line",
    "where": [{"file": "recipes/x.yaml", "line": 14, "column": 3},
              {"file": "", "line": 0, "column": 0},
              {"file": "p.yaml", "line": 2, "column": 0}],
    "hint": "drop one of them", "plugins": ["ema", "compile"],
    "hook": "StepEnd", "step": 12, "rank": 1})"));
  EXPECT_EQ(ToJson(Problems{Brief(Severity::kWarning, "w")}),
            nlohmann::json::parse(R"([{
    "kind": "recipe", "severity": "warning", "message": "w", "detail": "",
    "where": [], "hint": "", "plugins": [], "hook": "", "step": null,
    "rank": null}])"));
}

TEST(NearestName, FindsWhatWasMeant) {
  const std::vector<std::string> known = {
      "ema",        "compile",     "lr_warmup",         "mixed_precision",
      "max_epochs", "num_classes", "imagenet_resnet50", "SGD"};
  struct Case {
    const char* name;
    const char* nearest;
  };
  const Case cases[] = {
      {"emma", "ema"},                        // one letter too many
      {"aem", ""},                            // two swaps of three letters
      {"eam", "ema"},                         // neighbours swapped
      {"mixed_precison", "mixed_precision"},  // one missing
      {"lrWarmup", "lr_warmup"},              // case and separators
      {"LR-WARMUP", "lr_warmup"},             //
      {"sgd", "SGD"},                         //
      {"num_class", "num_classes"},           //
      {"epochs", "max_epochs"},               // a part of it
      {"resnet50", "imagenet_resnet50"},      //
      {"learning_rate", ""},                  // nothing near
      {"x", ""},                              //
      {"", ""},                               //
      {"__", ""},                             // nothing but separators
  };
  for (const Case& c : cases) {
    EXPECT_EQ(NearestName(c.name, known), c.nearest) << c.name;
  }
}

TEST(NearestName, PrefersFewerEditsThenTheFirst) {
  EXPECT_EQ(NearestName("resnet5", {"resnet152", "resnet50", "resnet51"}),
            "resnet50");
  EXPECT_EQ(NearestName("anything", {}), "");
}

TEST(NearestName, IsNotSlowedDownByHugeNames) {
  const std::string huge(1 << 20, 'x');
  EXPECT_EQ(NearestName(huge, {huge + "y", "x"}), "");
}

TEST(DidYouMean, AsksOnlyWhenSomethingIsNear) {
  EXPECT_EQ(DidYouMean("emma", {"ema"}), "did you mean \"ema\"?");
  EXPECT_EQ(DidYouMean("emma", {"compile"}), "");
}

}  // namespace
}  // namespace slipway
