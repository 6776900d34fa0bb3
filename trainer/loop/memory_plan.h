// What a training's memory will hold, and the largest batch that fits.
//
//   MemoryPlan plan;
//   plan.measured = {{8, 31e6}, {16, 61e6}};
//   ...
//   FitBatch(plan);
//   std::cout << FormatMemoryPlan(plan);
//
// Bytes. What grows with the batch is measured at one or two sizes, as the most
// that a whole step (forward, backward, update) holds beyond what stays, and
// taken to be linear in the batch. Values and pure functions.
#ifndef SLIPWAY_TRAINER_LOOP_MEMORY_PLAN_H_
#define SLIPWAY_TRAINER_LOOP_MEMORY_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace slipway::loop {

struct MemoryPlan {
  // What stays from step to step.
  int64_t parameters = 0;
  int64_t buffers = 0;
  int64_t optimizer = 0;  // its state
  int64_t plugins = 0;    // EMA's average and the like
  // Of all parameters that have one.
  int64_t gradients = 0;

  // The most that a step held beyond what stays, gradients and all.
  struct Measurement {
    int64_t batch_size = 0;
    int64_t bytes = 0;
  };
  std::vector<Measurement> measured;
  // Of one sample, in all batches that are prepared ahead.
  int64_t sample_in_loader = 0;
  // Of the process besides tensors: libraries, scratch of kernels. 0 on a
  // device.
  int64_t process = 0;

  int64_t batch_size = 0;  // the recipe's
  // What this process may have in all, what it has now included; 0: unknown.
  int64_t available = 0;
  double seconds = 0;  // that measuring took

  // By FitBatch.
  int64_t activations = 0;  // at batch_size
  int64_t loader = 0;       // at batch_size
  int64_t total = 0;        // at batch_size
  int64_t per_sample = 0;
  // That fits into `available`; 0 if none does, or if that is unknown.
  int64_t largest_batch = 0;
};

// Fills in what follows from the rest. `measured` is not empty.
void FitBatch(MemoryPlan& plan);

// {parameters, buffers, gradients, optimizer, plugins, activations, loader,
// process, total, available, batch_size, per_sample, largest_batch,
// measured: [{batch_size, bytes}], seconds}; what is unknown is null.
nlohmann::ordered_json ToJson(const MemoryPlan& plan);

// A table for people.
std::string FormatMemoryPlan(const MemoryPlan& plan);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_MEMORY_PLAN_H_
