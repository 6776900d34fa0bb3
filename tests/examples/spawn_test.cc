#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/process.h"

namespace slipway {
namespace {

using testing::HasSubstr;

TEST(Spawn, RunsInEachRank) {
  if (std::thread::hardware_concurrency() < 2)
    GTEST_SKIP() << "needs two cores";
  const Outcome run =
      Process(RunfilePath("tests/examples/spawn"), {}, EmptyFolder()).Wait();
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("rank 0 of 2: pi is about 3.14"));
  EXPECT_THAT(run.out, HasSubstr("rank 1 of 2: pi is about 3.14"));
}

}  // namespace
}  // namespace slipway
