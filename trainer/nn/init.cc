#include "trainer/nn/init.h"

#include <cmath>

#include "c10/core/GradMode.h"
// After LibTorch's headers, which define CHECK too.
#include "glog/logging.h"

namespace slipway::nn {
namespace {

double KaimingStd(const at::Tensor& weight, const KaimingOptions& options) {
  const Fans fans = FansOf(weight);
  const int64_t fan = options.fan == Fan::kIn ? fans.in : fans.out;
  const double gain = std::sqrt(2 / (1 + options.slope * options.slope));
  return gain / std::sqrt(static_cast<double>(fan));
}

double XavierStd(const at::Tensor& weight, double gain) {
  const Fans fans = FansOf(weight);
  return gain * std::sqrt(2.0 / static_cast<double>(fans.in + fans.out));
}

// A uniform distribution of this standard deviation ends at +- this.
double Bound(double std) { return std::sqrt(3.0) * std; }

double NormalCdf(double x) { return (1 + std::erf(x / std::sqrt(2.0))) / 2; }

}  // namespace

Fans FansOf(const at::Tensor& weight) {
  CHECK_GE(weight.dim(), 2) << "fans need a weight of two or more dimensions";
  if (weight.numel() == 0) return {};
  return {weight.numel() / weight.size(0), weight.numel() / weight.size(1)};
}

void KaimingUniform(const at::Tensor& weight, const KaimingOptions& options,
                    const OptionalGenerator& generator) {
  const double bound = Bound(KaimingStd(weight, options));
  Uniform(weight, -bound, bound, generator);
}

void KaimingNormal(const at::Tensor& weight, const KaimingOptions& options,
                   const OptionalGenerator& generator) {
  Normal(weight, {.std = KaimingStd(weight, options)}, generator);
}

void XavierUniform(const at::Tensor& weight, double gain,
                   const OptionalGenerator& generator) {
  const double bound = Bound(XavierStd(weight, gain));
  Uniform(weight, -bound, bound, generator);
}

void XavierNormal(const at::Tensor& weight, double gain,
                  const OptionalGenerator& generator) {
  Normal(weight, {.std = XavierStd(weight, gain)}, generator);
}

void Normal(const at::Tensor& tensor, const NormalOptions& options,
            const OptionalGenerator& generator) {
  const c10::AutoGradMode no_grad(false);
  tensor.normal_(options.mean, options.std, generator);
}

void TruncatedNormal(const at::Tensor& tensor,
                     const TruncatedNormalOptions& options,
                     const OptionalGenerator& generator) {
  const c10::AutoGradMode no_grad(false);
  const double low = NormalCdf((options.low - options.mean) / options.std);
  const double high = NormalCdf((options.high - options.mean) / options.std);
  tensor.uniform_(2 * low - 1, 2 * high - 1, generator)
      .erfinv_()
      .mul_(options.std * std::sqrt(2.0))
      .add_(options.mean)
      .clamp_(options.low, options.high);
}

void Uniform(const at::Tensor& tensor, double low, double high,
             const OptionalGenerator& generator) {
  const c10::AutoGradMode no_grad(false);
  tensor.uniform_(low, high, generator);
}

void DefaultInit(const at::Tensor& weight, const at::Tensor& bias,
                 const OptionalGenerator& generator) {
  KaimingUniform(weight, {.slope = std::sqrt(5.0)}, generator);
  const int64_t inputs = FansOf(weight).in;
  if (!bias.defined() || inputs == 0) return;
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  Uniform(bias, -bound, bound, generator);
}

}  // namespace slipway::nn
