#include "trainer/nn/allocation_counter.h"

#include <algorithm>
#include <mutex>

#include "c10/core/Allocator.h"
#include "c10/util/ThreadLocalDebugInfo.h"

namespace slipway::nn {

class AllocationCounter::Sums : public c10::MemoryReportingInfoBase {
 public:
  explicit Sums(c10::Device device) : device_(device) {}

  void reportMemoryUsage(void* ptr, int64_t alloc_size, size_t total_allocated,
                         size_t total_reserved, c10::Device device) override {
    if (device.type() != device_.type()) return;
    const std::lock_guard lock(mutex_);
    live_ += alloc_size;
    peak_ = std::max(peak_, live_);
  }
  bool memoryProfilingEnabled() const override { return true; }

  int64_t live() {
    const std::lock_guard lock(mutex_);
    return live_;
  }
  int64_t peak() {
    const std::lock_guard lock(mutex_);
    return peak_;
  }
  void ResetPeak() {
    const std::lock_guard lock(mutex_);
    peak_ = live_;
  }

 private:
  const c10::Device device_;
  std::mutex mutex_;
  int64_t live_ = 0;
  int64_t peak_ = 0;
};

struct AllocationCounter::Listening {
  explicit Listening(std::shared_ptr<Sums> sums)
      : guard(c10::DebugInfoKind::PROFILER_STATE, std::move(sums)) {}
  c10::DebugInfoGuard guard;
};

AllocationCounter::AllocationCounter(c10::Device device)
    : sums_(std::make_shared<Sums>(device)),
      listening_(std::make_unique<Listening>(sums_)) {}
AllocationCounter::~AllocationCounter() = default;

int64_t AllocationCounter::live() const { return sums_->live(); }
int64_t AllocationCounter::peak() const { return sums_->peak(); }
void AllocationCounter::ResetPeak() { sums_->ResetPeak(); }

}  // namespace slipway::nn
