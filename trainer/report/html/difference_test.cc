#include "trainer/report/html/difference.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::html {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Lines(const std::vector<Difference>& rows) {
  std::vector<std::string> lines;
  for (const Difference& row : rows) {
    std::string line = row.key + ":";
    for (const auto& value : row.values) line += " " + value.value_or("-");
    lines.push_back(line);
  }
  return lines;
}

TEST(RecipeDifferences, ListsKeysWhoseValuesDiffer) {
  std::vector<RunData> runs(3);
  runs[0].recipe = {{"lr", "0.1"}, {"epochs", "3"}, {"same", "x"}};
  runs[1].recipe = {{"lr", "0.2"}, {"epochs", "3"}, {"same", "x"}};
  runs[2].recipe = {{"lr", "0.1"}, {"ema", "true"}, {"same", "x"}};
  EXPECT_THAT(Lines(RecipeDifferences(runs)),
              ElementsAre("ema: - - true", "epochs: 3 3 -", "lr: 0.1 0.2 0.1"));
  runs.resize(1);
  EXPECT_THAT(RecipeDifferences(runs), IsEmpty());
}

TEST(PlanDifferences, ComparesPluginsOrderAndClaims) {
  std::vector<RunData> runs(2);
  runs[0].plan = Json::parse(R"({
      "plugins": [{"id": "ema", "version": "1.0", "config": {"decay": 0.9}},
                  {"id": "amp", "version": "1.0"}, 7],
      "order": {"StepEnd": ["amp", "ema"], "Close": ["ema"]},
      "claims": {"backward_scale": "amp"}})");
  runs[1].plan = Json::parse(R"({
      "plugins": [{"id": "ema", "version": "1.1", "config": {"decay": 0.99}}],
      "order": {"StepEnd": ["ema"], "Close": ["ema"]}})");
  EXPECT_THAT(
      Lines(PlanDifferences(runs)),
      ElementsAre("amp: 1.0 -", "claims.backward_scale: amp -", "ema: 1.0 1.1",
                  "ema.decay: 0.9 0.99", "order.StepEnd: amp ema ema"));
}

TEST(PlanDifferences, TakesAMissingPlanForNone) {
  std::vector<RunData> runs(2);
  EXPECT_THAT(PlanDifferences(runs), IsEmpty());
}

}  // namespace
}  // namespace slipway::html
