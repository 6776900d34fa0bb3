#include "trainer/loop/phase_timer.h"

#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/loop/fixtures.h"
#include "trainer/plugin/training_state.h"

namespace slipway::loop {
namespace {

using ::testing::ElementsAre;
using Clock = std::chrono::steady_clock;

constexpr double kNap = 0.02;

void Nap() { std::this_thread::sleep_for(std::chrono::duration<double>(kNap)); }

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class PhaseTimerTest : public testing::Test {
 protected:
  PhaseTimerTest() {
    auto probe = std::make_unique<Probe>();
    probe->step_begin = [](BatchContext&) {
      Nap();
      return absl::OkStatus();
    };
    hooks_ = ProbeRunner(std::move(probe));
    hooks_->set_timing(true);
  }

  void RunHook() {
    TrainingState state;
    BatchContext context(state);
    ASSERT_TRUE(hooks_->Run<Hook::kStepBegin>(context).ok());
  }

  static std::map<std::string, double> AsMap(const NamedValues& values) {
    return {values.begin(), values.end()};
  }

  std::unique_ptr<HookRunner> hooks_;
};

// If a part were counted twice, the sum would be above the time that passed.
TEST_F(PhaseTimerTest, CountsNoTimeTwice) {
  const Clock::time_point start = Clock::now();
  PhaseTimer timer(*hooks_);
  {
    const PhaseScope outer(&timer, Phase::kOptimizer);
    {
      const PhaseScope inner(&timer, Phase::kBackward);
      Nap();
      RunHook();
    }
    RunHook();
  }
  auto seconds = AsMap(timer.TakeSeconds());
  const double elapsed = SecondsSince(start);
  EXPECT_GE(seconds["backward"], kNap);
  EXPECT_GE(seconds["hooks"], 2 * kNap);
  double sum = 0;
  for (const auto& [name, value] : seconds) sum += value;
  EXPECT_LE(sum, elapsed);
}

TEST_F(PhaseTimerTest, StartsAnewWhenTaken) {
  PhaseTimer timer(*hooks_);
  {
    const PhaseScope phase(&timer, Phase::kData);
    Nap();
  }
  timer.TakeSeconds();
  {
    const PhaseScope phase(&timer, Phase::kLoss);
    Nap();
  }
  auto latest = AsMap(timer.TakeSeconds());
  EXPECT_FALSE(latest.contains("data"));
  EXPECT_GE(latest["loss"], kNap);
  auto all = AsMap(timer.AllSeconds());
  EXPECT_GE(all["data"], kNap);
  EXPECT_GE(all["loss"], kNap);
}

TEST_F(PhaseTimerTest, NeedsNoTimer) {
  const PhaseScope phase(nullptr, Phase::kData);
}

TEST_F(PhaseTimerTest, NamesPhasesInOrder) {
  std::vector<std::string> names;
  for (int i = 0; i < kPhaseCount; ++i) {
    names.emplace_back(ToString(static_cast<Phase>(i)));
  }
  EXPECT_THAT(names, ElementsAre("data", "forward", "loss", "backward",
                                 "synchronisation", "optimizer", "metrics",
                                 "evaluation", "saving"));
}

}  // namespace
}  // namespace slipway::loop
