#include "plugins/syncbn/sync_batch_norm.h"

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "ATen/core/dispatch/Dispatcher.h"
#include "ATen/ops/batch_norm.h"
#include "ATen/ops/batch_norm_update_stats.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/empty_like.h"
#include "ATen/ops/full.h"
#include "ATen/ops/native_batch_norm.h"
#include "ATen/ops/native_batch_norm_backward.h"
#include "ATen/ops/ones_like.h"
#include "ATen/ops/zeros.h"
#include "torch/csrc/autograd/custom_function.h"
#include "torch/library.h"
#include "trainer/dist/process_group.h"

namespace slipway::syncbn {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;
using MaybeTensor = std::optional<Tensor>;

void SumOverRanks(const Tensor& tensor, const std::string& name) {
  dist::ProcessGroup* const group = dist::ProcessGroup::Find(name);
  TORCH_CHECK(group != nullptr, "there is no group of ranks called \"", name,
              "\": synchronised batch normalisation needs several processes");
  const absl::Status status = group->AllReduce(tensor).Wait();
  TORCH_CHECK(status.ok(), status.message());
}

// What is computed with: running statistics are floats.
Tensor Widened(const Tensor& x) {
  return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

// The forward direction's numbers, before they are summed.
Tensor LocalSums(const Tensor& x, const Tensor& running_mean) {
  const int64_t channels = x.size(1);
  if (x.numel() == 0) return at::zeros({3 * channels + 1}, x.options());
  const double n = static_cast<double>(x.numel() / channels);
  const auto [mean, var] =
      at::batch_norm_update_stats(x, std::nullopt, std::nullopt, 0);
  const Tensor distance =
      running_mean.defined() ? mean.sub(running_mean.to(mean.dtype())) : mean;
  return at::cat({distance.mul(n), var.add(distance.square()).mul(n),
                  mean.mul(n), at::full({1}, n, x.options())});
}

// Mean and biased variance of all ranks' values.
struct Moments {
  explicit Moments(const Tensor& sums) {
    const int64_t channels = sums.size(0) / 3;
    // No sample anywhere leaves zeros, not nans.
    count = sums.narrow(0, 3 * channels, 1).clamp_min(1);
    const Tensor distance = sums.narrow(0, 0, channels).div(count);
    mean = sums.narrow(0, 2 * channels, channels).div(count);
    var = sums.narrow(0, channels, channels)
              .div(count)
              .sub(distance.square())
              .clamp_min(0);
  }
  Tensor count, mean, var;
};

void MoveRunningStatistics(const Moments& moments, double momentum,
                           Tensor running_mean, Tensor running_var) {
  const Tensor others = moments.count.sub(1).clamp_min(1);
  const Tensor unbiased = moments.var.mul(moments.count.div(others));
  running_mean.mul_(1 - momentum).add_(moments.mean, momentum);
  running_var.mul_(1 - momentum).add_(unbiased, momentum);
}

Tensor OrOnes(const Tensor& weight, const Tensor& like) {
  return weight.defined() ? weight : at::ones_like(like);
}

// [C] beside [N, C, ...].
Tensor AlongChannels(const Tensor& values, const Tensor& x) {
  std::vector<int64_t> shape(x.dim(), 1);
  shape[1] = values.size(0);
  return values.view(shape);
}

class Function : public torch::autograd::Function<Function> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& input,
                        const MaybeTensor& weight, const MaybeTensor& bias,
                        const MaybeTensor& running_mean,
                        const MaybeTensor& running_var, double momentum,
                        double eps, const std::string& group) {
    TORCH_CHECK(input.dim() >= 2, "SyncBatchNorm takes [N, C, ...], not ",
                input.sizes());
    const Tensor x = Widened(input);
    const Tensor sums = LocalSums(x, running_mean.value_or(Tensor()));
    SumOverRanks(sums, group);
    const Moments moments(sums);
    if (running_mean) {
      MoveRunningStatistics(moments, momentum, *running_mean, *running_var);
    }
    context->save_for_backward({input, weight.value_or(Tensor()), sums});
    context->saved_data["eps"] = eps;
    context->saved_data["group"] = group;
    if (x.numel() == 0) return at::empty_like(input);
    return std::get<0>(at::native_batch_norm(x, weight, bias, moments.mean,
                                             moments.var, /*training=*/false,
                                             /*momentum=*/0, eps))
        .to(input.scalar_type());
  }

  static tensor_list backward(AutogradContext* context, tensor_list outputs) {
    const tensor_list saved = context->get_saved_variables();
    const double eps = context->saved_data["eps"].toDouble();
    const Moments moments(saved[2]);
    const Tensor x = Widened(saved[0]);
    const Tensor dy = outputs[0].to(x.scalar_type());
    auto [dx, dweight, dbias] = LocalGradients(x, dy, saved[1], moments, eps);
    if (context->needs_input_grad(0)) {
      const Tensor deviation = moments.var.add(eps).sqrt();
      const Tensor sums = at::cat({dbias, dweight.mul(deviation)});
      SumOverRanks(sums, context->saved_data["group"].toStringRef());
      Centre(x, saved[1], moments, deviation, sums, dx);
      dx = dx.to(saved[0].scalar_type());
    }
    const bool affine = saved[1].defined();
    return {dx,
            affine ? dweight.to(saved[1].scalar_type()) : Tensor(),
            affine ? dbias.to(saved[1].scalar_type()) : Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor()};
  }

 private:
  // As if mean and variance were constants: dy w / deviation, sum(dy (x - M)) /
  // deviation and sum(dy).
  static std::tuple<Tensor, Tensor, Tensor> LocalGradients(
      const Tensor& x, const Tensor& dy, const Tensor& weight,
      const Moments& moments, double eps) {
    if (x.numel() == 0) {
      const Tensor zeros = at::zeros({x.size(1)}, x.options());
      return {at::empty_like(x), zeros, zeros};
    }
    return at::native_batch_norm_backward(
        dy.contiguous(x.suggest_memory_format()), x,
        OrOnes(weight, moments.mean), moments.mean, moments.var, std::nullopt,
        std::nullopt, /*train=*/false, eps, {true, true, true});
  }

  // Takes from `dx` what mean and variance add.
  static void Centre(const Tensor& x, const Tensor& weight,
                     const Moments& moments, const Tensor& deviation,
                     const Tensor& sums, Tensor& dx) {
    const int64_t channels = x.size(1);
    const Tensor scale = OrOnes(weight, deviation).div(deviation);
    const Tensor mean_dy = sums.narrow(0, 0, channels).div(moments.count);
    const Tensor slope = sums.narrow(0, channels, channels)
                             .div(moments.count)
                             .div(deviation.square());
    dx.addcmul_(x.sub(AlongChannels(moments.mean, x)),
                AlongChannels(scale.mul(slope), x), -1);
    dx.sub_(AlongChannels(scale.mul(mean_dy), x));
  }
};

Tensor Run(const Tensor& input, const MaybeTensor& weight,
           const MaybeTensor& bias, const MaybeTensor& running_mean,
           const MaybeTensor& running_var, double momentum, double eps,
           std::string_view group) {
  return Function::apply(input, weight, bias, running_mean, running_var,
                         momentum, eps, std::string(group));
}

TORCH_LIBRARY_FRAGMENT(slipway, library) {
  library.def(
      "sync_batch_norm(Tensor input, Tensor? weight, Tensor? bias, "
      "Tensor(a!)? running_mean, Tensor(b!)? running_var, float momentum, "
      "float eps, str group) -> Tensor",
      &Run);
}

MaybeTensor IfDefined(const Tensor& tensor) {
  return tensor.defined() ? MaybeTensor(tensor) : std::nullopt;
}

class Layer : public nn::LayerWith<nn::BatchNormOptions> {
 public:
  Layer(const nn::BatchNormOptions& options, const nn::Module& layer,
        std::string group)
      : LayerWith(options), group_(std::move(group)) {
    for (const auto& [name, tensor] : layer.NamedParameters()) {
      AddParameter(name, tensor);
      if (name == "weight") tensors_.weight = tensor;
      if (name == "bias") tensors_.bias = tensor;
    }
    for (const auto& [name, tensor] : layer.NamedBuffers()) {
      AddBuffer(name, tensor);
      if (name == "running_mean") tensors_.running_mean = tensor;
      if (name == "running_var") tensors_.running_var = tensor;
      if (name == "num_batches_tracked") batches_ = tensor;
    }
  }
  std::string kind() const override { return "SyncBatchNorm"; }

 protected:
  Tensor ForwardTensor(const Tensor& x) override {
    if (!training()) return LocalForward(x);
    if (batches_.defined()) batches_.add_(1);
    SyncBatchNormTensors tensors = tensors_;
    tensors.input = x;
    return SyncBatchNorm(tensors, Momentum(), options().eps, group_);
  }

 private:
  Tensor LocalForward(const Tensor& x) const {
    return at::batch_norm(x, tensors_.weight, tensors_.bias,
                          tensors_.running_mean, tensors_.running_var,
                          /*training=*/!tensors_.running_mean.defined(),
                          /*momentum=*/0, options().eps,
                          /*cudnn_enabled=*/true);
  }

  double Momentum() const {
    if (options().momentum || !batches_.defined()) {
      return options().momentum.value_or(0);
    }
    return 1 / batches_.item<double>();
  }

  std::string group_;
  SyncBatchNormTensors tensors_;
  Tensor batches_;
};

}  // namespace

Tensor SyncBatchNorm(const SyncBatchNormTensors& tensors, double momentum,
                     double eps, const std::string& group) {
  static const auto operation =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("slipway::sync_batch_norm", "")
          .typed<decltype(Run)>();
  return operation.call(tensors.input, IfDefined(tensors.weight),
                        IfDefined(tensors.bias),
                        IfDefined(tensors.running_mean),
                        IfDefined(tensors.running_var), momentum, eps, group);
}

std::unique_ptr<nn::Module> SyncBatchNormLayer(
    const nn::BatchNormOptions& options, const nn::Module& layer,
    std::string group) {
  return std::make_unique<Layer>(options, layer, std::move(group));
}

}  // namespace slipway::syncbn
