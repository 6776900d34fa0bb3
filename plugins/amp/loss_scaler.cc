#include "plugins/amp/loss_scaler.h"

#include "ATen/ops/_amp_foreach_non_finite_check_and_unscale.h"
#include "ATen/ops/_amp_update_scale.h"
#include "ATen/ops/full.h"
#include "ATen/ops/zeros.h"
#include "c10/core/GradMode.h"

namespace slipway::amp {

LossScaler::LossScaler(at::Device device, const LossScalerOptions& options)
    : options_(options),
      scale_(at::full({}, options.initial_scale,
                      at::TensorOptions(device).dtype(at::kFloat))),
      growth_tracker_(
          at::zeros({}, at::TensorOptions(device).dtype(at::kInt))) {}

at::Tensor LossScaler::Scale(const at::Tensor& loss) {
  return loss.mul(scale_);
}

at::Tensor LossScaler::Unscale(const std::vector<at::Tensor>& gradients) {
  const c10::NoGradGuard no_grad;
  at::Tensor found = at::zeros({}, scale_.options());
  if (gradients.empty()) return found;
  // In double precision, since the reciprocal of a large scale is small.
  const at::Tensor inverse = scale_.to(at::kDouble).reciprocal().to(at::kFloat);
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse);
  return found;
}

void LossScaler::Update(bool found_non_finite) {
  const at::Tensor found =
      at::full({}, found_non_finite ? 1.0 : 0.0, scale_.options());
  at::_amp_update_scale_(scale_, growth_tracker_, found, options_.growth_factor,
                         options_.backoff_factor, options_.growth_interval);
}

double LossScaler::scale() const { return scale_.item<double>(); }

std::vector<std::pair<std::string, at::Tensor>> LossScaler::State() {
  return {{"scale", scale_}, {"growth_tracker", growth_tracker_}};
}

}  // namespace slipway::amp
