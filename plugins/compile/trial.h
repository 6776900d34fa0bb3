// Whether compiled code computes what the model computes, and whether it does
// so faster, on a real batch.
//
//   Trial trial(forward, inputs, options);
//   absl::Status right = trial.Verify(package);
//   const std::vector<double> seconds = trial.Time({trial.eager(), package});
//
// What is compared, from equal tensors and random generators: every output, the
// gradient of every parameter, and how every tensor changes that is written:
// buffers; in a whole step parameters, momentum and averages, too. Gradients
// are those of a fixed weighting of the outputs, cos(0), cos(1), ..., in the
// loss's place: what is right for it is right for any loss. What is written,
// the generators and `.grad` are afterwards what they were.
//
// How near is near enough: for a tensor r of eager's and c of the code's, of n
// values each,
//
//   |c - r| <= tolerance (|r| + sqrt(n) R / 100) + 4 |r' - r| + 4 e |b|
//
// where |x| is the root of the sum of squares, R the root mean square of all
// tensors of the same sort (outputs, gradients, buffers, momenta), and r' is
// eager's after the batch was changed in its last bits: a net that magnifies
// those (batch norm over few values does) tells no more than that about
// anybody. For a change, b is what was there before, and e what its last bit
// stands for. Not the largest difference, since a value that is zero but for
// rounding may pass a ReLU here and not there, and its gradient with it. The
// tolerance is 1e-6 in double, 1e-2 in single precision (seen are 1e-6 to 1e-5
// as a rule, more where a ReLU has changed its mind, and 0.16 and more for
// wrong code), 5e-2 where there is bf16 or fp16.
#ifndef SLIPWAY_PLUGINS_COMPILE_TRIAL_H_
#define SLIPWAY_PLUGINS_COMPILE_TRIAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "plugins/compile/inputs.h"
#include "plugins/compile/trace.h"
#include "trainer/nn/module.h"
#include "trainer/nn/value.h"

namespace slipway::compile {

struct TrialOptions {
  bool differentiate = true;
  bool reduced_precision = false;
};

class Comparison;  // trial.cc

class Trial {
 public:
  // Outputs, flat, for the graph's inputs.
  using Forward = TensorFunction;

  // `eager` is the model's own forward. May throw what it throws.
  Trial(Forward eager, const Inputs& inputs, const TrialOptions& options);

  const Forward& eager() const { return eager_; }
  // What it returned.
  const std::vector<at::Tensor>& expected() const { return expected_.outputs; }

  // DATA_LOSS names the tensor that differs most, against what is allowed; an
  // error of the code is that error. Throws nothing.
  absl::Status Verify(const Forward& code);

  // Seconds of a forward and backward pass, by candidate, the median of
  // `rounds`; in each round every candidate runs once. Throws what they throw.
  std::vector<double> Time(const std::vector<Forward>& candidates,
                           int rounds = 5);

  // The most bytes of tensors that such a pass makes at once, by candidate.
  // Zeros while a profiler looks on. Throws what they throw.
  std::vector<int64_t> PeakBytes(const std::vector<Forward>& candidates);

 private:
  struct Result {
    std::vector<at::Tensor> outputs;
    std::vector<at::Tensor> gradients;
    std::vector<at::Tensor> changes;  // of what is written
  };
  Result Run(const Forward& forward, const std::vector<at::Tensor>& inputs);
  std::vector<at::Tensor> Gradients(const std::vector<at::Tensor>& outputs);
  void CompareChanges(const Result& found, Comparison& comparison) const;
  double Seconds(const Forward& forward);
  void Pass(const Forward& forward);

  const Inputs& inputs_;
  TrialOptions options_;
  std::vector<std::string> gradient_names_;
  std::vector<at::Tensor> differentiated_;
  Forward eager_;
  Result expected_;
  Result noise_;
};

// A model's forward as a function of a graph's inputs, of which it takes the
// last: a batch of the structure of `batch`. All are borrowed.
Trial::Forward OfGraphInputs(const nn::Module::ForwardFunction& forward,
                             const Inputs& inputs, const Value& batch);

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_TRIAL_H_
