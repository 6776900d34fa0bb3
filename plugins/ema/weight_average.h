// The exponential moving average of a model's weights.
//
//   WeightAverage average(model);
//   average.Update(0.999);                  // average += 0.001 * (model -
//   average)
//   {
//     std::unique_ptr<Scope> scope = average.SwapIn();
//     model.Run(images);                    // with the averaged weights
//   }                                       // with its own again
//
// Averaged are all floating-point tensors of the state dict: parameters, and
// buffers such as BatchNorm's running statistics. Integer buffers
// (num_batches_tracked) have no average: they are the model's own.
// The average belongs to one thread and must not outlive the model.
#ifndef SLIPWAY_PLUGINS_EMA_WEIGHT_AVERAGE_H_
#define SLIPWAY_PLUGINS_EMA_WEIGHT_AVERAGE_H_

#include <memory>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "trainer/nn/module.h"
#include "trainer/plugin/control.h"

namespace slipway::ema {

class WeightAverage {
 public:
  // Starts at the model's weights. With `freeze_integers` (SuperGradients'
  // behaviour) integer buffers stay as they are now.
  explicit WeightAverage(const nn::Module& model, bool freeze_integers = false);

  // average = decay * average + (1 - decay) * weights. May throw c10::Error.
  void Update(double decay);

  // The same with `share` = 1 - decay, a scalar tensor, and of operations that
  // a compiler takes.
  void UpdateBy(const at::Tensor& share);

  // The averages that Update writes, by the weights' names.
  std::vector<nn::NamedTensor> Averages() const;

  // The whole state dict with averages in the place of weights: names and order
  // are the model's, the tensors this object's own or, for integer buffers, the
  // model's.
  std::vector<nn::NamedTensor> State() const;

  // Copies. INVALID_ARGUMENT lists all missing, unexpected and misshapen names;
  // nothing is changed then. Integer buffers are looked at with
  // `freeze_integers` only.
  absl::Status Load(const std::vector<nn::NamedTensor>& state);

  // FAILED_PRECONDITION if `model` has other tensors than those that are
  // averaged: a layer was replaced since.
  absl::Status CheckModel(const nn::Module& model) const;

  // Puts averages in the place of the model's weights until the scope ends:
  // tensors change hands, nothing is copied. Meanwhile the model must not write
  // its weights (no training, no BatchNorm in train mode) and Update must not
  // be called.
  std::unique_ptr<Scope> SwapIn();

 private:
  std::vector<std::string> names_;
  std::vector<at::Tensor> weights_;   // the model's
  std::vector<at::Tensor> averages_;  // parallel; undefined: the weight itself
  // Of both, what is averaged.
  std::vector<at::Tensor> floating_weights_;
  std::vector<at::Tensor> floating_averages_;
};

}  // namespace slipway::ema

#endif  // SLIPWAY_PLUGINS_EMA_WEIGHT_AVERAGE_H_
