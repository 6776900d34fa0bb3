// The mean of a loss and of its parts over the samples of a pass.
//
//   LossMeter meter("STDCLoss");
//   meter.Add(loss, batch.valid);
//   meter.Compute();   // {{"STDCLoss", 1.2}, {"STDCLoss/main_loss", 0.7}}
//
// Nothing waits for a device before Compute(): sums stay where the losses are.
// On a CPU a sum is a number. Not thread-safe.
#ifndef SLIPWAY_TRAINER_LOOP_LOSS_METER_H_
#define SLIPWAY_TRAINER_LOOP_LOSS_METER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/plugin/loss.h"
#include "trainer/report/reporter.h"

namespace slipway::loop {

class LossMeter {
 public:
  // `name` is what the loss is called among the metrics.
  explicit LossMeter(std::string name) : name_(std::move(name)) {}

  void Reset();
  // Adds the loss of a batch, weighted by its `samples`. May throw c10::Error
  // if the loss is no scalar.
  void Add(const LossOutput& loss, int64_t samples);
  // The total under the loss's name, then each part as "<loss>/<part>"; the
  // total alone, as NaN, if nothing was added. Waits for the device.
  NamedValues Compute() const;

  // What checkpoints keep: the sums so far by part, the total's name empty.
  struct State {
    int64_t samples = 0;
    NamedValues sums;
  };
  // Waits for the device.
  State SaveState() const;
  void LoadState(const State& state);

 private:
  struct Sum {
    std::string name;
    double host = 0;
    at::Tensor device = {};  // undefined on a CPU
  };
  void AddTo(Sum& sum, const at::Tensor& value, int64_t samples);
  Sum& Find(std::string_view part);

  std::string name_;
  std::vector<Sum> sums_;
  int64_t samples_ = 0;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_LOSS_METER_H_
