#include "trainer/data/pipeline.h"

#include <omp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "ATen/Parallel.h"
#include "oneapi/tbb/global_control.h"
#include "oneapi/tbb/parallel_for.h"
#include "oneapi/tbb/task_arena.h"
#include "oneapi/tbb/task_scheduler_observer.h"

namespace slipway::data {
namespace {

// How soon a stop is seen. Whoever sets it is a signal handler, which cannot
// wake anybody.
constexpr std::chrono::milliseconds kLookForStop(50);

// Left alone, each of oneTBB's threads would start a team of OpenMP threads of
// its own for the first large tensor that it meets.
class OneAtenThread : public tbb::task_scheduler_observer {
 public:
  explicit OneAtenThread(tbb::task_arena& arena)
      : tbb::task_scheduler_observer(arena) {
    observe(true);
  }
  ~OneAtenThread() override { observe(false); }

  void on_scheduler_entry(bool) override {
    // ATen sets a thread's number once, at its first use: have that done.
    at::get_num_threads();
    omp_set_num_threads(1);
  }
};

// oneTBB has as many threads as there are cores, less the caller's, unless
// told.
std::optional<tbb::global_control> AllowThreads(size_t threads) {
  constexpr auto kLimit = tbb::global_control::max_allowed_parallelism;
  std::optional<tbb::global_control> control;
  if (tbb::global_control::active_value(kLimit) < threads) {
    control.emplace(kLimit, threads);
  }
  return control;
}

}  // namespace

class Pipeline::Arena {
 public:
  explicit Arena(int workers)
      : allow_(AllowThreads(workers + 1)),
        // No slot for the caller, who never works.
        arena_(workers, 0),
        one_thread_(arena_) {}

  template <typename Task>
  void Enqueue(Task task) {
    arena_.enqueue(std::move(task));
  }

 private:
  const std::optional<tbb::global_control> allow_;
  tbb::task_arena arena_;
  const OneAtenThread one_thread_;
};

// What tasks see; they may end a moment after the pipeline.
struct Pipeline::Shared {
  explicit Shared(const BatchMaker& maker) : maker(maker) {}

  // Valid until the task's slot is done.
  const BatchMaker& maker;
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::condition_variable done;

  void Make(int64_t number, Slot& slot);
  void Wait(const Slot& slot);
  bool WaitFor(const Slot& slot, std::chrono::milliseconds time);
};

struct Pipeline::Slot {
  BatchMaker::Result result;
  bool done = false;  // guarded by Shared::mutex
};

void Pipeline::Shared::Make(int64_t number, Slot& slot) {
  const auto for_each = [&](int64_t count,
                            absl::FunctionRef<void(int64_t)> make) {
    // While a thread waits for the others' samples it must not begin another
    // batch: that would hold this one up.
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(int64_t{0}, count, [&](int64_t i) {
        if (!stop) make(i);
      });
    });
  };
  BatchMaker::Result result;
  if (!stop) result = maker.Make(number, for_each);
  std::lock_guard<std::mutex> lock(mutex);
  slot.result = std::move(result);
  slot.done = true;
  done.notify_all();
}

void Pipeline::Shared::Wait(const Slot& slot) {
  std::unique_lock<std::mutex> lock(mutex);
  done.wait(lock, [&] { return slot.done; });
}

bool Pipeline::Shared::WaitFor(const Slot& slot,
                               std::chrono::milliseconds time) {
  std::unique_lock<std::mutex> lock(mutex);
  return done.wait_for(lock, time, [&] { return slot.done; });
}

Pipeline::Pipeline(const BatchMaker& maker, int64_t first_batch,
                   const PipelineShape& shape)
    : shared_(std::make_shared<Shared>(maker)),
      arena_(std::make_unique<Arena>(shape.workers)),
      next_(first_batch) {
  for (int i = 0; i < shape.ahead; ++i) Begin();
}

Pipeline::~Pipeline() {
  shared_->stop = true;
  for (const auto& slot : slots_) shared_->Wait(*slot);
}

void Pipeline::Begin() {
  if (next_ >= shared_->maker.size()) return;
  slots_.push_back(std::make_shared<Slot>());
  arena_->Enqueue([shared = shared_, slot = slots_.back(), number = next_] {
    shared->Make(number, *slot);
  });
  ++next_;
}

bool Pipeline::WaitForNext(const std::atomic<int>* stop) {
  while (!shared_->WaitFor(*slots_.front(), kLookForStop)) {
    if (stop != nullptr && *stop != 0) return false;
  }
  return true;
}

bool Pipeline::Ready() const {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  return slots_.front()->done;
}

BatchMaker::Result Pipeline::Next() {
  const std::shared_ptr<Slot> slot = std::move(slots_.front());
  slots_.pop_front();
  shared_->Wait(*slot);
  Begin();
  return std::move(slot->result);
}

}  // namespace slipway::data
