#include "trainer/nn/activation_checkpoint.h"

#include <mutex>
#include <utility>
#include <vector>

#include "ATen/Context.h"
#include "c10/core/GradMode.h"
#include "torch/csrc/autograd/autograd.h"
#include "torch/csrc/autograd/function.h"
#include "torch/csrc/autograd/functions/utils.h"
#include "torch/csrc/autograd/saved_variable.h"

// Declared here, since ATen/autocast_mode.h costs 15 seconds of compilation.
namespace at::autocast {
TORCH_API bool is_autocast_enabled(at::DeviceType device_type);
TORCH_API void set_autocast_enabled(at::DeviceType device_type, bool enabled);
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device_type);
TORCH_API void set_autocast_dtype(at::DeviceType device_type,
                                  at::ScalarType dtype);
TORCH_API void clear_cache();
TORCH_API int increment_nesting();
TORCH_API int decrement_nesting();
}  // namespace at::autocast

namespace slipway::nn {
namespace {

using torch::autograd::variable_list;

// Where a forward pass starts from, besides its input: autocast and the
// generators of the CPU and of the input's device.
class Surroundings {
 public:
  explicit Surroundings(at::Device device) : device_(device.type()) {
    enabled_ = at::autocast::is_autocast_enabled(device_);
    dtype_ = at::autocast::get_autocast_dtype(device_);
    Remember(at::Device(at::kCPU));
    if (device.type() != at::kCPU) Remember(device);
  }

  void Restore() const {
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
    for (auto [generator, state] : generators_) {
      const std::lock_guard<std::mutex> lock(generator.mutex());
      generator.set_state(state);
    }
  }

 private:
  void Remember(at::Device device) {
    at::Generator generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generators_.emplace_back(generator, generator.get_state());
  }

  at::DeviceType device_;
  bool enabled_;
  at::ScalarType dtype_;
  std::vector<std::pair<at::Generator, at::Tensor>> generators_;
};

// For a second forward pass: lets it start from where the first one did, and
// puts everything back afterwards, on an exception too.
class Return {
 public:
  Return(const Surroundings& then, at::Device device) : now_(device) {
    at::autocast::increment_nesting();
    then.Restore();
  }
  ~Return() {
    now_.Restore();
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  }
  Return(const Return&) = delete;
  Return& operator=(const Return&) = delete;

 private:
  const Surroundings now_;
};

// Undoes what happens to a module's buffers while this object lives. The graph
// of the second pass must be gone by then: it knows when a buffer that it saved
// was written to.
class KeptBuffers {
 public:
  explicit KeptBuffers(const Module& module) {
    for (const auto& [name, buffer] : module.NamedBuffers()) {
      buffers_.emplace_back(buffer, buffer.clone());
    }
  }
  ~KeptBuffers() {
    const c10::AutoGradMode no_grad(false);
    for (const auto& [buffer, value] : buffers_) buffer.copy_(value);
  }
  KeptBuffers(const KeptBuffers&) = delete;
  KeptBuffers& operator=(const KeptBuffers&) = delete;

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers_;
};

at::Device DeviceOf(const variable_list& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined()) return tensor.device();
  }
  return at::Device(at::kCPU);
}

// The node in autograd's graph that stands for everything in the module.
class RerunBackward : public torch::autograd::Node {
 public:
  RerunBackward(const Module& module, Module::ForwardFunction forward,
                const Value& input)
      : module_(module),
        forward_(std::move(forward)),
        structure_(
            input.Transform([](const at::Tensor&) { return at::Tensor(); })),
        device_(DeviceOf(input.Flatten())),
        surroundings_(device_) {
    for (const at::Tensor& tensor : input.Flatten()) {
      inputs_.emplace_back(tensor, /*is_output=*/false);
      require_grad_.push_back(tensor.defined() && tensor.requires_grad());
    }
  }

  variable_list apply(variable_list&& gradients) override {
    const c10::AutoGradMode with_grad(true);
    const KeptBuffers kept(module_);
    const variable_list inputs = DetachedInputs();
    const variable_list outputs = Rerun(inputs);
    variable_list roots, of_roots;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!gradients[i].defined() || !outputs[i].requires_grad()) continue;
      roots.push_back(outputs[i]);
      of_roots.push_back(gradients[i]);
    }
    if (!roots.empty()) torch::autograd::backward(roots, of_roots);
    variable_list of_inputs;
    for (const at::Tensor& input : inputs) {
      of_inputs.push_back(input.defined() ? input.grad() : at::Tensor());
    }
    return of_inputs;
  }

  void release_variables() override { inputs_.clear(); }
  std::string name() const override { return "RerunBackward"; }

  // Whether autograd knows this output at all.
  static bool Differentiable(const at::Tensor& tensor) {
    return tensor.defined() &&
           torch::autograd::isDifferentiableType(tensor.scalar_type());
  }

 private:
  // The outputs that this node has gradients for.
  variable_list Rerun(const variable_list& inputs) {
    const Return back(surroundings_, device_);
    variable_list outputs = forward_(structure_.Unflatten(inputs)).Flatten();
    std::erase_if(outputs,
                  [](const at::Tensor& t) { return !Differentiable(t); });
    return outputs;
  }

  variable_list DetachedInputs() {
    TORCH_CHECK(inputs_.size() == require_grad_.size(),
                "the graph of a module with checkpointed activations was "
                "already freed: it can be walked once only");
    variable_list inputs;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      at::Tensor input = inputs_[i].unpack();
      if (input.defined()) {
        input = input.detach().set_requires_grad(require_grad_[i]);
      }
      inputs.push_back(std::move(input));
    }
    return inputs;
  }

  const Module& module_;
  Module::ForwardFunction forward_;
  Value structure_;
  at::Device device_;
  Surroundings surroundings_;
  std::vector<torch::autograd::SavedVariable> inputs_;
  std::vector<bool> require_grad_;
};

bool NeedsGradients(const Module& module, const variable_list& inputs) {
  for (const at::Tensor& input : inputs) {
    if (input.defined() && input.requires_grad()) return true;
  }
  for (const auto& [name, parameter] : module.NamedParameters()) {
    if (parameter.requires_grad()) return true;
  }
  return false;
}

Value RunCheckpointed(const Module& module,
                      const Module::ForwardFunction& forward,
                      const Value& input) {
  const variable_list inputs = input.Flatten();
  if (!c10::GradMode::is_enabled() || !NeedsGradients(module, inputs)) {
    return forward(input);
  }
  auto node = c10::make_intrusive<RerunBackward>(module, forward, input);
  node->set_next_edges(torch::autograd::collect_next_edges(inputs));
  const c10::AutoGradMode no_grad(false);
  return forward(input).Transform([&](const at::Tensor& output) {
    if (!RerunBackward::Differentiable(output)) return output;
    // Detached, since an output may be an input with a history of its own.
    at::Tensor result = output.detach();
    torch::autograd::set_history(result, node);
    return result;
  });
}

}  // namespace

void CheckpointActivations(Module& module) {
  module.set_forward_wrapper(
      [&module](const Module::ForwardFunction& forward, const Value& input) {
        return RunCheckpointed(module, forward, input);
      });
}

}  // namespace slipway::nn
