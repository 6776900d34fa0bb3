// What to say when memory runs out.
//
//   if (IsOutOfMemory(status)) ExplainOutOfMemory(status, facts, problem);
//
// A pure function.
#ifndef SLIPWAY_TRAINER_LOOP_OUT_OF_MEMORY_H_
#define SLIPWAY_TRAINER_LOOP_OUT_OF_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "trainer/recipe/problem.h"

namespace slipway::loop {

struct MemoryFacts {
  int64_t batch_size = 1;
  int64_t batch_accumulate = 1;
  bool mixed_precision = false;
  bool on_device = false;
  int64_t peak = 0;       // bytes of the process, or of the device
  int64_t available = 0;  // bytes that are left; 0: unknown
};

// Fills in detail and hint: what was asked for, what there was, and what to
// change, the mildest change first.
void ExplainOutOfMemory(const absl::Status& status, const MemoryFacts& facts,
                        Problem& problem);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_OUT_OF_MEMORY_H_
