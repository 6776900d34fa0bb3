#include "trainer/loop/phase_timer.h"

#include <iterator>
#include <utility>

namespace slipway::loop {
namespace {

constexpr std::string_view kNames[] = {
    "data",      "forward", "loss",       "backward", "synchronisation",
    "optimizer", "metrics", "evaluation", "saving",
};
static_assert(std::size(kNames) == kPhaseCount);

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

std::string_view ToString(Phase phase) {
  return kNames[static_cast<size_t>(phase)];
}

PhaseTimer::PhaseTimer(const HookRunner& hooks)
    : hooks_(hooks), start_(Now()), taken_(start_) {}

PhaseTimer::Sums PhaseTimer::Now() const {
  return {phases_, hooks_.total_time(), Clock::now()};
}

NamedValues PhaseTimer::Between(const Sums& from, const Sums& to) {
  NamedValues seconds;
  Clock::duration other = to.at - from.at;
  const auto add = [&](std::string_view name, Clock::duration spent) {
    if (spent.count() <= 0) return;
    seconds.emplace_back(name, Seconds(spent));
    other -= spent;
  };
  for (int i = 0; i < kPhaseCount; ++i) {
    add(kNames[i], to.phases[i] - from.phases[i]);
  }
  add("hooks", to.hooks - from.hooks);
  add("other", other);
  return seconds;
}

NamedValues PhaseTimer::TakeSeconds() {
  const Sums now = Now();
  return Between(std::exchange(taken_, now), now);
}

NamedValues PhaseTimer::AllSeconds() const { return Between(start_, Now()); }

PhaseScope::PhaseScope(PhaseTimer* timer, Phase phase)
    : timer_(timer), phase_(phase) {
  if (timer == nullptr) return;
  outer_ = std::exchange(timer->innermost_, this);
  hooks_before_ = timer->hooks_.total_time();
  if (ProfilerListens()) range_.emplace(std::string(ToString(phase)));
  start_ = Clock::now();
}

PhaseScope::~PhaseScope() {
  if (timer_ == nullptr) return;
  const Clock::duration hooks = timer_->hooks_.total_time() - hooks_before_;
  const Clock::duration without_hooks = Clock::now() - start_ - hooks;
  timer_->phases_[static_cast<size_t>(phase_)] += without_hooks - inner_;
  if (outer_ != nullptr) outer_->inner_ += without_hooks;
  timer_->innermost_ = outer_;
}

}  // namespace slipway::loop
