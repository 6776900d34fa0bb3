#include "trainer/checkpoint/fault_point.h"

#include <signal.h>

#include <cstdlib>

#include "gtest/gtest.h"

namespace slipway {
namespace {

volatile sig_atomic_t terminations = 0;

// Goes through the points of two steps; its exit code tells how often it was
// asked to end, and before which step first.
[[noreturn]] void RunSteps(const char* fault) {
  setenv("SLIPWAY_FAULT", fault, 1);
  signal(SIGTERM, [](int) { terminations = terminations + 1; });
  int first = 0;
  for (int step = 1; step <= 2; ++step) {
    FaultPoint("step_before");
    if (terminations > 0 && first == 0) first = step;
    FaultPoint("step");
  }
  std::_Exit(10 * terminations + first);
}

struct Case {
  const char* fault;
  int exit_code;  // -1: killed
};

class FaultPointTest : public testing::TestWithParam<Case> {};

TEST_P(FaultPointTest, EndsTheProcessInItsTurn) {
  const auto [fault, exit_code] = GetParam();
  if (exit_code < 0) {
    EXPECT_EXIT(RunSteps(fault), testing::KilledBySignal(SIGKILL), "") << fault;
  } else {
    EXPECT_EXIT(RunSteps(fault), testing::ExitedWithCode(exit_code), "")
        << fault;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultPointTest,
    testing::Values(Case{"", 0}, Case{"step", -1}, Case{"step:2", -1},
                    Case{"step:3", 0}, Case{"ste", 0}, Case{"step_before", -1},
                    Case{"step_before:1:SIGTERM", 11},
                    Case{"step_before:SIGTERM", 11},
                    Case{"step_before:2:SIGTERM", 12},
                    Case{"step:1:SIGTERM", 12}, Case{"step:3:SIGTERM", 0}));

}  // namespace
}  // namespace slipway
