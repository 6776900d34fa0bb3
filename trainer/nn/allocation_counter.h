// Counts the bytes of tensors that are made while it lives, as LibTorch's
// allocators report them.
//
//   AllocationCounter counter(at::kCPU);
//   Train();
//   counter.peak();  // the most there were at once
//
// Of one device, and of this thread and those that compute gradients for it;
// frees of what was made before do not count. Memory that kernels take without
// an allocator of LibTorch's (scratch of oneDNN) is not seen. One at a time,
// and none while a profiler runs.
#ifndef SLIPWAY_TRAINER_NN_ALLOCATION_COUNTER_H_
#define SLIPWAY_TRAINER_NN_ALLOCATION_COUNTER_H_

#include <cstdint>
#include <memory>

#include "c10/core/Device.h"

namespace slipway::nn {

class AllocationCounter {
 public:
  explicit AllocationCounter(c10::Device device);
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;

  // Bytes that were made and not freed.
  int64_t live() const;
  // The most there were since the last ResetPeak.
  int64_t peak() const;
  void ResetPeak();

 private:
  class Sums;
  struct Listening;
  std::shared_ptr<Sums> sums_;
  std::unique_ptr<Listening> listening_;
};

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_ALLOCATION_COUNTER_H_
