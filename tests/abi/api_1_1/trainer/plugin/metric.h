// What a metric is: meters that add up over batches and ranks.
//
//   metric->Reset();
//   for (...) metric->Update(prediction, target, batch.valid);
//   metric->Compute();  // {{"Accuracy", 0.984}}
#ifndef SLIPWAY_TRAINER_PLUGIN_METRIC_H_
#define SLIPWAY_TRAINER_PLUGIN_METRIC_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "tests/abi/api_1_1/trainer/nn/value.h"

namespace slipway {

// Used from one thread. Update works on tensors and forces no value: nothing
// is copied to the host before Compute, so a metric costs kernels, not waits.
class Metric {
 public:
  virtual ~Metric();
  virtual void Reset() = 0;
  // The first `valid` rows count. May throw c10::Error.
  virtual absl::Status Update(const Value& prediction, const Value& target,
                              int64_t valid) = 0;
  // Name and value of each component. NaN if nothing was added.
  virtual std::vector<std::pair<std::string, double>> Compute() const = 0;
  // Tensors that the core sums over ranks before Compute, and stores in
  // checkpoints: all that Update has added up. They are the metric's own: a
  // resume calls Reset and writes into them.
  virtual std::vector<at::Tensor> Meters() = 0;
  // Whether a larger value of component `name` is a better one.
  virtual bool greater_is_better(const std::string& name) const { return true; }
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_METRIC_H_
