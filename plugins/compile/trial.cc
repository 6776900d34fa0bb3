#include "plugins/compile/trial.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/arange.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "c10/util/ThreadLocalDebugInfo.h"
#include "plugins/compile/no_autocast.h"
#include "plugins/compile/preserve.h"
#include "torch/csrc/autograd/autograd.h"
#include "trainer/nn/allocation_counter.h"
#include "trainer/plugin/exception.h"

namespace slipway::compile {
namespace {

using at::Tensor;

// The loss's place: see the header.
Tensor Weighting(const Tensor& output) {
  const Tensor positions =
      at::arange(output.numel(), output.options().dtype(at::kFloat));
  return positions.cos_().view(output.sizes()).to(output.scalar_type());
}

// What the last bit of 1 stands for; 0 for integers.
double LastBit(const Tensor& tensor) {
  if (!tensor.is_floating_point()) return 0;
  return tensor.scalar_type() == at::kDouble  ? 2.2e-16
         : tensor.scalar_type() == at::kFloat ? 1.2e-7
                                              : 8e-3;
}

// In the last bits, of what has such: up here and down there, since batch norm
// undoes what happens to all values alike. Where a model computes in bf16, the
// last bits are bf16's, whatever the batch is.
std::vector<Tensor> Nudged(const Inputs& inputs, bool reduced_precision) {
  constexpr double kBf16Bit = 4e-3;
  std::vector<Tensor> nudged = inputs.tensors();
  for (size_t i = inputs.state_size(); i < nudged.size(); ++i) {
    if (!nudged[i].is_floating_point()) continue;
    const double bit = reduced_precision ? kBf16Bit : LastBit(nudged[i]);
    nudged[i] = nudged[i].addcmul(nudged[i], Weighting(nudged[i]), bit);
  }
  return nudged;
}

double NormOf(const Tensor& tensor) {
  if (!tensor.defined()) return 0;
  return tensor.detach().to(at::kDouble).norm().item<double>();
}

// The root mean square of all values.
double SizeOf(const std::vector<Tensor>& tensors) {
  double squares = 0;
  double values = 0;
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    squares += NormOf(tensor) * NormOf(tensor);
    values += static_cast<double>(tensor.numel());
  }
  return values > 0 ? std::sqrt(squares / values) : 0;
}

Tensor ChangeOf(const Tensor& tensor, const Tensor& before) {
  const Tensor now = tensor.detach();
  return now.scalar_type() == at::kBool ? now.ne(before) : now.sub(before);
}

// Not a number where they do not fit each other.
double Distance(const Tensor& a, const Tensor& b) {
  if (!a.defined() && !b.defined()) return 0;
  // A gradient that is not there is zero.
  if (!a.defined()) return NormOf(b);
  if (!b.defined()) return NormOf(a);
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return NormOf(a.detach().to(at::kDouble).sub(b.detach().to(at::kDouble)));
}

// "momentum_buffer" of "momentum_buffer/conv1.weight".
std::string SortOf(const std::string& name) {
  return name.substr(0, name.find('/'));
}

}  // namespace

// What is compared, and the worst of it so far.
class Comparison {
 public:
  explicit Comparison(double tolerance) : tolerance_(tolerance) {}

  // `before`: of what these are the changes; empty if they are none.
  void Add(const std::string& sort, const std::vector<std::string>& names,
           const std::vector<Tensor>& found,
           const std::vector<Tensor>& expected,
           const std::vector<Tensor>& nudged,
           const std::vector<Tensor>& before = {}) {
    if (found.size() != expected.size()) {
      worst_ = std::numeric_limits<double>::infinity();
      what_ = absl::StrCat(found.size(), " ", sort, "s instead of ",
                           expected.size());
      return;
    }
    const double size = SizeOf(expected) / 100;
    for (size_t i = 0; i < found.size(); ++i) {
      const double error = Distance(found[i], expected[i]);
      const double values =
          expected[i].defined() ? static_cast<double>(expected[i].numel()) : 0;
      const double floor = size * std::sqrt(values);
      const double rounding =
          before.empty() ? 0 : LastBit(before[i]) * NormOf(before[i]);
      const double allowed = tolerance_ * (NormOf(expected[i]) + floor) +
                             4 * (Distance(nudged[i], expected[i]) + rounding);
      Offer(error, allowed, absl::StrCat(sort, " ", names[i]));
    }
  }

  absl::Status Result() const {
    if (worst_ <= 1) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("compiled code differs from the model: ", what_));
  }

 private:
  void Offer(double error, double allowed, const std::string& name) {
    // Neither compares with a nan.
    const double times = error == 0 ? 0
                         : error <= std::numeric_limits<double>::max()
                             ? error / allowed
                             : std::numeric_limits<double>::infinity();
    if (!(times > worst_)) return;
    worst_ = times;
    what_ = absl::StrFormat("%s is off by %.2g, at most %.2g is allowed", name,
                            error, allowed);
  }

  double tolerance_;
  double worst_ = 0;
  std::string what_;
};

namespace {

std::vector<std::string> Numbered(size_t size) {
  std::vector<std::string> names;
  for (size_t i = 0; i < size; ++i) names.push_back(std::to_string(i));
  return names;
}

double ToleranceFor(const std::vector<Tensor>& outputs, bool reduced) {
  if (reduced) return 5e-2;
  const bool is_double =
      !outputs.empty() && outputs[0].scalar_type() == at::kDouble;
  return is_double ? 1e-6 : 1e-2;
}

}  // namespace

Trial::Trial(Forward eager, const Inputs& inputs, const TrialOptions& options)
    : inputs_(inputs), options_(options), eager_(std::move(eager)) {
  const std::vector<Tensor> parameters = inputs.parameters();
  const std::vector<std::string> names = inputs.names();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].requires_grad()) continue;
    differentiated_.push_back(parameters[i]);
    gradient_names_.push_back(names[i]);
  }
  expected_ = Run(eager_, inputs.tensors());
  noise_ = Run(eager_, Nudged(inputs, options.reduced_precision));
}

Trial::Result Trial::Run(const Forward& forward,
                         const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> written = inputs_.written();
  const Preserve preserve(written);
  const at::AutoGradMode gradients(options_.differentiate);
  const NoAutocastCache every_cast_anew;
  Result result;
  result.outputs = forward(inputs);
  if (options_.differentiate) result.gradients = Gradients(result.outputs);
  for (Tensor& output : result.outputs) output = output.detach();
  for (size_t i = 0; i < written.size(); ++i) {
    result.changes.push_back(ChangeOf(written[i], preserve.values()[i]));
  }
  return result;
}

std::vector<Tensor> Trial::Gradients(const std::vector<Tensor>& outputs) {
  const NoAutocast no_autocast;
  std::vector<Tensor> roots;
  std::vector<Tensor> weightings;
  for (const Tensor& output : outputs) {
    if (!output.requires_grad()) continue;
    roots.push_back(output);
    weightings.push_back(Weighting(output));
  }
  if (roots.empty() || differentiated_.empty()) return {};
  return torch::autograd::grad(roots, differentiated_, weightings,
                               /*retain_graph=*/std::nullopt,
                               /*create_graph=*/false, /*allow_unused=*/true);
}

absl::Status Trial::Verify(const Forward& code) {
  return Guarded([&]() -> absl::Status {
    const Result found = Run(code, inputs_.tensors());
    Comparison comparison(
        ToleranceFor(expected_.outputs, options_.reduced_precision));
    comparison.Add("output", Numbered(expected_.outputs.size()), found.outputs,
                   expected_.outputs, noise_.outputs);
    comparison.Add("gradient of", gradient_names_, found.gradients,
                   expected_.gradients, noise_.gradients);
    CompareChanges(found, comparison);
    return comparison.Result();
  });
}

// By sort: the update of a momentum and that of a parameter are of different
// sizes.
void Trial::CompareChanges(const Result& found, Comparison& comparison) const {
  struct Sort {
    std::vector<std::string> names;
    std::vector<Tensor> found, expected, nudged, before;
  };
  std::map<std::string, Sort> sorts;
  const std::vector<Tensor> written = inputs_.written();
  const std::vector<std::string> names = inputs_.written_names();
  const size_t model_tensors =
      inputs_.is_step() ? inputs_.parameter_count() + inputs_.buffer_count()
                        : written.size();
  for (size_t i = 0; i < written.size(); ++i) {
    const bool is_parameter =
        inputs_.is_step() && i < inputs_.parameter_count();
    Sort& sort = sorts[is_parameter        ? "parameter"
                       : i < model_tensors ? "buffer"
                                           : SortOf(names[i])];
    sort.names.push_back(names[i]);
    sort.found.push_back(found.changes[i]);
    sort.expected.push_back(expected_.changes[i]);
    sort.nudged.push_back(noise_.changes[i]);
    sort.before.push_back(written[i]);
  }
  for (const auto& [name, sort] : sorts) {
    comparison.Add("change of " + name, sort.names, sort.found, sort.expected,
                   sort.nudged, sort.before);
  }
}

std::vector<double> Trial::Time(const std::vector<Forward>& candidates,
                                int rounds) {
  std::vector<std::vector<double>> seconds(candidates.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      seconds[i].push_back(Seconds(candidates[i]));
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& one : seconds) {
    std::sort(one.begin(), one.end());
    medians.push_back(one[one.size() / 2]);
  }
  return medians;
}

std::vector<int64_t> Trial::PeakBytes(const std::vector<Forward>& candidates) {
  std::vector<int64_t> bytes(candidates.size(), 0);
  const auto profiler =
      c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
  if (profiler != nullptr || inputs_.tensors().empty()) return bytes;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Preserve preserve(inputs_.written());
    const NoAutocastCache every_cast_anew;
    const nn::AllocationCounter counter(inputs_.tensors()[0].device());
    Pass(candidates[i]);
    bytes[i] = counter.peak();
  }
  return bytes;
}

Trial::Forward OfGraphInputs(const nn::Module::ForwardFunction& forward,
                             const Inputs& inputs, const Value& batch) {
  return [&forward, &inputs, &batch](const std::vector<Tensor>& tensors) {
    return forward(inputs.BatchIn(tensors, batch)).Flatten();
  };
}

double Trial::Seconds(const Forward& forward) {
  const Preserve preserve(inputs_.written());
  const NoAutocastCache every_cast_anew;
  const auto start = std::chrono::steady_clock::now();
  Pass(forward);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

void Trial::Pass(const Forward& forward) {
  const at::AutoGradMode gradients(options_.differentiate);
  const std::vector<Tensor> outputs = forward(inputs_.tensors());
  const std::vector<Tensor> results =
      options_.differentiate ? Gradients(outputs) : outputs;
  // On a device, until it is done.
  for (const Tensor& result : results) {
    if (result.defined() && !result.is_cpu()) {
      result.flatten().narrow(0, 0, 1).item();
      break;
    }
  }
}

}  // namespace slipway::compile
