// Shrink and perturb: Ash and Adams, "On Warm-Starting Neural Network
// Training", 2020. At the beginning of every epoch but the first.
#include <memory>

#include "ATen/CPUGeneratorImpl.h"
#include "ATen/ops/randn.h"
#include "c10/core/GradMode.h"
#include "trainer/plugin/plugin.h"
#include "trainer/recipe/params.h"

namespace {

class ShrinkPerturb : public slipway::Plugin {
 public:
  ShrinkPerturb(double shrink, double noise) : shrink_(shrink), noise_(noise) {}

  static absl::StatusOr<std::unique_ptr<slipway::Plugin>> Create(
      const slipway::recipe::Node& config) {
    slipway::Problems problems;
    slipway::recipe::Params params(config, "shrink_perturb", problems);
    const double shrink =
        params.Double("shrink", {.fallback = 0.9, .min = 0, .max = 1});
    const double noise = params.Double("noise", {.fallback = 0.001, .min = 0});
    params.Finish();
    if (slipway::HasErrors(problems)) {
      return absl::InvalidArgumentError(slipway::FormatProblems(problems));
    }
    return std::make_unique<ShrinkPerturb>(shrink, noise);
  }

  absl::Status EpochBegin(slipway::FitContext& context) override {
    if (context.epoch() == 0) return absl::OkStatus();
    const c10::NoGradGuard no_grad;
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(
        context.seed() + static_cast<uint64_t>(context.epoch()));
    for (auto& [name, tensor] : context.model().NamedParameters()) {
      tensor.mul_(shrink_).add_(
          at::randn(tensor.sizes(), generator, at::kFloat).to(tensor.options()),
          noise_);
    }
    return absl::OkStatus();
  }

 private:
  double shrink_;
  double noise_;
};

}  // namespace

SLIPWAY_PLUGIN("com.example.shrink_perturb", "1.0.0", ShrinkPerturb);
