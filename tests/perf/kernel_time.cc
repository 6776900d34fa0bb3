#include "tests/perf/kernel_time.h"

#include <chrono>
#include <memory>

#include "ATen/record_function.h"

namespace slipway::perf {
namespace {

using Clock = std::chrono::steady_clock;

// Of the kernels on this thread.
struct Running {
  int depth = 0;
  Clock::time_point start;
  Clock::duration total{};
};

thread_local Running running;

std::unique_ptr<at::ObserverContext> Began(const at::RecordFunction&) {
  if (running.depth++ == 0) running.start = Clock::now();
  return nullptr;
}

void Ended(const at::RecordFunction&, at::ObserverContext*) {
  if (--running.depth == 0) running.total += Clock::now() - running.start;
}

}  // namespace

double KernelSecondsOf(const std::function<void()>& f) {
  running = Running();
  const at::CallbackHandle handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(Began, Ended)
                                     .scopes({at::RecordScope::FUNCTION}));
  f();
  at::removeCallback(handle);
  return std::chrono::duration<double>(running.total).count();
}

}  // namespace slipway::perf
