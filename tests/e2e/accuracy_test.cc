// What the shipped recipes reach. The long form has all twelve epochs; its
// quick sibling, in every run of the tests, has six.
#include <chrono>
#include <cstdlib>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"

namespace slipway {
namespace {

using nlohmann::json;

double BestAccuracy(const std::string& recipe,
                    const std::vector<std::string>& overrides) {
  const std::string folder = EmptyFolder();
  std::vector<std::string> arguments = {"--recipe=" + recipe,
                                        "--run_dir=" + folder + "/run"};
  arguments.insert(arguments.end(), overrides.begin(), overrides.end());
  const Outcome run = RunTrainer(arguments, folder);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const json result = json::parse(ReadText(folder + "/run/result.json"));
  return result["metrics"]["best"]["value"];
}

class Accuracy : public testing::TestWithParam<const char*> {};

#ifdef SLIPWAY_ALL_EPOCHS
TEST_P(Accuracy, IsAbove98PercentAfterTwelveEpochs) {
  EXPECT_GE(BestAccuracy(GetParam(), {}), 0.98);
}
#else
TEST_P(Accuracy, IsAbove95PercentAfterSixEpochs) {
  EXPECT_GE(BestAccuracy(GetParam(), {"epochs=6"}), 0.95);
}
#endif

INSTANTIATE_TEST_SUITE_P(Recipes, Accuracy,
                         testing::Values("digits_resnet", "digits_all_plugins"),
                         [](const auto& info) {
                           return std::string(info.param);
                         });

}  // namespace
}  // namespace slipway
