#include "trainer/plan/environment.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::plan {
namespace {

using ::testing::AnyOf;
using ::testing::StartsWith;

TEST(Environment, DescribesThisMachine) {
  const Environment here = DetectEnvironment();
  EXPECT_THAT(here.device, AnyOf("cpu", "cuda"));
  EXPECT_THAT(here.libtorch_version, StartsWith("2."));
  EXPECT_EQ(here.os, "linux");
  EXPECT_THAT(here.arch, AnyOf("x86_64", "aarch64"));
}

TEST(Environment, HidesDevicesThatCudaHides) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_EQ(DetectEnvironment().device, "cpu");
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(Environment, ReadsTheRankVariables) {
  unsetenv("WORLD_SIZE");
  unsetenv("SLIPWAY_AUTO_LR");
  EXPECT_EQ(DetectEnvironment().world_size, 1);
  EXPECT_FALSE(DetectEnvironment().auto_lr);
  setenv("WORLD_SIZE", "4", 1);
  setenv("SLIPWAY_AUTO_LR", "1", 1);
  EXPECT_EQ(DetectEnvironment().world_size, 4);
  EXPECT_TRUE(DetectEnvironment().auto_lr);
}

TEST(Environment, CountsOneProcessWhereTheVariableIsNoNumber) {
  for (const char* text : {"", "four", "-2", "0", "1.5"}) {
    setenv("WORLD_SIZE", text, 1);
    EXPECT_EQ(DetectEnvironment().world_size, 1) << text;
  }
  unsetenv("WORLD_SIZE");
}

}  // namespace
}  // namespace slipway::plan
