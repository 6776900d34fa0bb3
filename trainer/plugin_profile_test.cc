#include "trainer/plugin_profile.h"

#include "gtest/gtest.h"

namespace slipway {
namespace {

TEST(PluginProfile, ListsTheCostliestFirst) {
  const std::string table =
      FormatPluginProfile({{"amp", Hook::kBeforeForward, 100, 0.001},
                           {"ema", Hook::kAfterOptimizer, 540, 0.27}});
  EXPECT_EQ(
      table,
      "plugin                hook                  calls    seconds  per call\n"
      "ema                   AfterOptimizer          540     0.2700      500.0 "
      "us\n"
      "amp                   BeforeForward           100     0.0010       10.0 "
      "us\n");
}

}  // namespace
}  // namespace slipway
