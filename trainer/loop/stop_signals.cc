#include "trainer/loop/stop_signals.h"

namespace slipway::loop {
namespace {

// A signal handler has no argument of ours: the one global it needs.
std::atomic<std::atomic<int>*> target = nullptr;
static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<std::atomic<int>*>::is_always_lock_free);

// The signal is blocked in its own handler: raised again, with nothing to catch
// it, it ends the process as the handler returns.
void Note(int signal) {
  std::atomic<int>* flag = target.load();
  if (flag != nullptr && flag->exchange(signal) == 0) return;
  struct sigaction end = {};
  end.sa_handler = SIG_DFL;
  sigemptyset(&end.sa_mask);
  sigaction(signal, &end, nullptr);
  raise(signal);
}

void Install(int signal, struct sigaction& old) {
  struct sigaction action = {};
  action.sa_handler = Note;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, &old);
}

}  // namespace

StopSignals::StopSignals(std::atomic<int>& signal) {
  target = &signal;
  Install(SIGINT, old_interrupt_);
  Install(SIGTERM, old_terminate_);
}

void StopSignals::Retarget(std::atomic<int>& signal) {
  const std::atomic<int>* before = target.exchange(&signal);
  int none = 0;
  if (*before != 0) signal.compare_exchange_strong(none, *before);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  target = nullptr;
}

}  // namespace slipway::loop
