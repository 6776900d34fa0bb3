// A digest of each part of a training's state: to tell whether two trainings
// are the same bit for bit and, if not, where they differ.
//
//   const StateHashes here = HashState(*Capture(run, context));
//   const std::vector<std::string> parts = Differences(here, there);
//   // {"net/conv1.weight", "optimizer/conv1.weight/momentum_buffer"}
//
// Digests are the first 128 bits of SHA-256, of the same library that hashes
// plans: two states that differ by chance or by a fault are then never taken
// for equal, and it reads 0.5 GB/s, or 1.6 GB/s where the CPU has instructions
// for it. Hashes made for tables are ten times as fast, but nothing here is
// done in every step.
//
// Pure functions; they may throw c10::Error, and wait for a tensor's device.
#ifndef SLIPWAY_TRAINER_LOOP_STATE_HASH_H_
#define SLIPWAY_TRAINER_LOOP_STATE_HASH_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "trainer/checkpoint/checkpoint.h"

namespace slipway::loop {

// Name and digest (32 hex digits) of each part, in a fixed order: a part per
// tensor, named as VisitTensors does; "rng/<rank>"; "place" (sampler, steps and
// epochs); "results" (means so far, the validation's metrics, the best value);
// "plugins/<id>" for the values in a plugin's state.
using StateHashes = std::vector<std::pair<std::string, std::string>>;

// Where and what a training is.
struct StateRecord {
  int rank = 0;
  // Epochs that are finished, batches that are done in the next one, and
  // optimizer steps that were taken: no two records of a training have the same
  // epoch and batch.
  int64_t epoch = 0;
  int64_t batch = 0;
  int64_t step = 0;
  StateHashes hashes;
};

// Sees a training's states go by (Trainer::ObserveState). Called on the
// training thread.
class StateObserver {
 public:
  virtual ~StateObserver() = default;
  // Whether Observe is to be called here; `place` has no hashes yet. Asked
  // before the first step and after the last (`edge`), and after every step.
  virtual bool Wants(const StateRecord& place, bool edge) = 0;
  // An error is told as a warning and ends what is observed, not the training.
  virtual absl::Status Observe(const StateRecord& record) = 0;
};

// Of type, shape and values; how they lie in memory does not count.
std::string HashTensor(const at::Tensor& tensor);

// What depends on nothing but the training: neither times nor file names.
StateHashes HashState(const Checkpoint& checkpoint);

// Names of the parts that differ or that only one of them has, in order.
std::vector<std::string> Differences(const StateHashes& a,
                                     const StateHashes& b);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_STATE_HASH_H_
