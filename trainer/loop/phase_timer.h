// Where a training's time goes: by phase of the core, without the hooks, which
// the hook runner accounts for by itself.
//
//   PhaseTimer timer(hooks);
//   {
//     const PhaseScope forward(&timer, Phase::kForward);
//     ...
//   }
//   const NamedValues seconds = timer.TakeSeconds();  // {"forward", 0.4}, ...
//
// A scope within a scope takes its time out of the outer one's. Profilers see
// each scope as a range of its phase's name. A scope reads the clock twice: a
// step has about ten readings of 30 ns.
//
// Seconds are of the training thread. On a device that computes on its own,
// they are spent where the thread waits for it. Not thread-safe.
#ifndef SLIPWAY_TRAINER_LOOP_PHASE_TIMER_H_
#define SLIPWAY_TRAINER_LOOP_PHASE_TIMER_H_

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "trainer/plugin/hook_runner.h"
#include "trainer/plugin/profiler_range.h"
#include "trainer/report/reporter.h"

namespace slipway::loop {

enum class Phase {
  kData,             // waiting for a batch, and moving it to the device
  kForward,          // the model
  kLoss,             // the loss
  kBackward,         // gradients
  kSynchronisation,  // of ranks
  kOptimizer,        // unscaling, clipping, the update
  kMetrics,          // of the training
  kEvaluation,       // passes over other data
  kSaving,           // checkpoints
};
inline constexpr int kPhaseCount = static_cast<int>(Phase::kSaving) + 1;

// "data", "forward", ...
std::string_view ToString(Phase phase);

class PhaseScope;

class PhaseTimer {
 public:
  // `hooks` is borrowed.
  explicit PhaseTimer(const HookRunner& hooks);
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

  // Seconds of each phase since the last call, then of "hooks" (all plugins
  // together) and of "other", which is what is left of the time in between.
  // Phases that took none are left out.
  NamedValues TakeSeconds();
  // The same since the timer was made.
  NamedValues AllSeconds() const;

 private:
  friend class PhaseScope;
  using Clock = std::chrono::steady_clock;

  struct Sums {
    std::array<Clock::duration, kPhaseCount> phases = {};
    Clock::duration hooks = {};
    Clock::time_point at = {};
  };
  Sums Now() const;
  static NamedValues Between(const Sums& from, const Sums& to);

  const HookRunner& hooks_;
  std::array<Clock::duration, kPhaseCount> phases_ = {};
  PhaseScope* innermost_ = nullptr;
  Sums start_;
  Sums taken_;
};

// A stretch of a phase, as long as it lives. Without a timer it does nothing.
class PhaseScope {
 public:
  PhaseScope(PhaseTimer* timer, Phase phase);
  ~PhaseScope();
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  PhaseTimer* timer_;
  Phase phase_;
  PhaseScope* outer_ = nullptr;
  std::optional<ProfilerRange> range_;
  Clock::duration hooks_before_ = {};
  // Spent in scopes within this one, without their hooks.
  Clock::duration inner_ = {};
  Clock::time_point start_;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_PHASE_TIMER_H_
