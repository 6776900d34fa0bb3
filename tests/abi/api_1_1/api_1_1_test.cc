#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plugins/testing/harness.h"
#include "trainer/plugin/library.h"

namespace slipway {
namespace {

using testing::HarnessOptions;
using testing::PluginHarness;

constexpr char kFolder[] = "tests/abi/api_1_1";

loop::RunResult Train(HarnessOptions options) {
  options.folder = kFolder;
  options.epochs = 2;
  auto harness = PluginHarness::Create(std::move(options));
  EXPECT_TRUE(harness.ok()) << harness.status();
  if (!harness.ok()) return {};
  loop::RunResult result = (*harness)->Train();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ((*harness)->told().events.back().name, "old_event");
  return result;
}

TEST(PluginOfAnOlderMinorVersion, SaysSo) {
  Problems problems;
  const std::string path = std::string(kFolder) + "/libapi_1_1.so";
  const SlipwayPluginDescriptor* const library = OpenLibrary(path, problems);
  ASSERT_NE(library, nullptr) << FormatProblems(problems);
  EXPECT_EQ(library->api_major, kSlipwayApiMajor);
  EXPECT_EQ(library->api_minor, 1);
  EXPECT_LT(library->api_minor, kSlipwayApiMinor);
  EXPECT_TRUE(CheckAbi(*library, path, problems)) << FormatProblems(problems);
  EXPECT_FALSE(HasErrors(problems)) << FormatProblems(problems);
}

TEST(PluginOfAnOlderMinorVersion, SeesAWholeTraining) {
  const loop::RunResult result = Train({});
  const nlohmann::ordered_json& counts = result.sections["api_1_1"];
  EXPECT_EQ(counts["configure"], 2);
  EXPECT_EQ(counts["parameters"], 5);
  EXPECT_EQ(counts["steps_planned"], 8);
  EXPECT_EQ(counts["samples"], 8 * 8);
  EXPECT_EQ(counts["forwards"], 8);
  EXPECT_EQ(counts["gradients"], 8 * 5);
  EXPECT_EQ(counts["steps"], 8);
  EXPECT_EQ(counts["scopes"], 8);
  EXPECT_EQ(counts["epochs_with_loss"], 2);
  EXPECT_EQ(counts["evaluations of valid"], 2);
}

TEST(PluginOfAnOlderMinorVersion, BringsItsOptimizer) {
  HarnessOptions options;
  recipe::Node hyperparams = recipe::Node::Map();
  hyperparams.Set("optimizer", recipe::Node::String("OldSgd"));
  options.recipe = recipe::Node::Map();
  options.recipe.Set("training_hyperparams", hyperparams);
  EXPECT_EQ(Train(std::move(options)).steps, 8);
}

}  // namespace
}  // namespace slipway
