// Dynamic loss scaling, with the semantics of torch.amp.GradScaler.
//
// fp16 gradients below 6e-8 are zero. So the loss is multiplied by a scale that
// doubles after 2000 good steps in a row and halves after a step that had to be
// left out because a gradient overflowed.
#ifndef SLIPWAY_PLUGINS_AMP_LOSS_SCALER_H_
#define SLIPWAY_PLUGINS_AMP_LOSS_SCALER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/plugin/gradient_scaler.h"

namespace slipway::amp {

// The defaults are torch's.
struct LossScalerOptions {
  double initial_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;  // good steps
};

class LossScaler : public GradientScaler {
 public:
  explicit LossScaler(at::Device device, const LossScalerOptions& options = {});

  at::Tensor Scale(const at::Tensor& loss) override;
  at::Tensor Unscale(const std::vector<at::Tensor>& gradients) override;
  void Update(bool found_non_finite) override;
  // Waits for the device.
  double scale() const override;
  // scale, float[]; growth_tracker, int32[]: good steps since the last change.
  std::vector<std::pair<std::string, at::Tensor>> State() override;

 private:
  LossScalerOptions options_;
  at::Tensor scale_;
  at::Tensor growth_tracker_;
};

}  // namespace slipway::amp

#endif  // SLIPWAY_PLUGINS_AMP_LOSS_SCALER_H_
