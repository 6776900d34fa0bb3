#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"

namespace slipway {
namespace {

using nlohmann::json;
using testing::Contains;

TEST(Embed, TrainsWithoutARecipe) {
  const std::string folder = EmptyFolder();
  const Outcome run =
      Process(RunfilePath("tests/examples/embed"), {}, folder).Wait();
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json result = json::parse(run.out);
  EXPECT_EQ(result["epochs"], 10);
  EXPECT_EQ(result["steps"], 160);
  EXPECT_GT(result["metrics"]["best"]["value"], 0.95);
  EXPECT_THAT(FilesIn(OnlyRun(folder, "embedded")), Contains("ckpt_best.pth"));
}

}  // namespace
}  // namespace slipway
