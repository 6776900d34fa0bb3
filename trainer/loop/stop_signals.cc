#include "trainer/loop/stop_signals.h"

namespace slipway::loop {
namespace {

// A signal handler has no argument of ours: the one global it needs.
std::atomic<std::atomic<int>*> target = nullptr;
static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<std::atomic<int>*>::is_always_lock_free);

void Note(int signal) {
  std::atomic<int>* flag = target.load();
  if (flag != nullptr) flag->store(signal);
}

void Install(int signal, struct sigaction& old) {
  struct sigaction action = {};
  action.sa_handler = Note;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigaction(signal, &action, &old);
}

}  // namespace

StopSignals::StopSignals(std::atomic<int>& signal) {
  target = &signal;
  Install(SIGINT, old_interrupt_);
  Install(SIGTERM, old_terminate_);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  target = nullptr;
}

}  // namespace slipway::loop
