// Gradient noise: Neelakantan et al., "Adding Gradient Noise Improves Learning
// for Very Deep Networks", 2015. Step t adds normal noise of variance
// eta / (1 + t)^gamma.
#include <cmath>
#include <memory>

#include "ATen/CPUGeneratorImpl.h"
#include "ATen/ops/randn.h"
#include "trainer/plugin/plugin.h"
#include "trainer/recipe/params.h"

namespace {

class GradientNoise : public slipway::Plugin {
 public:
  GradientNoise(double eta, double gamma) : eta_(eta), gamma_(gamma) {}

  static absl::StatusOr<std::unique_ptr<slipway::Plugin>> Create(
      const slipway::recipe::Node& config) {
    slipway::Problems problems;
    slipway::recipe::Params params(config, "gradient_noise", problems);
    const double eta = params.Double("eta", {.fallback = 0.01, .min = 0});
    const double gamma = params.Double("gamma", {.fallback = 0.55, .min = 0});
    params.Finish();
    if (slipway::HasErrors(problems)) {
      return absl::InvalidArgumentError(slipway::FormatProblems(problems));
    }
    return std::make_unique<GradientNoise>(eta, gamma);
  }

  absl::Status BeforeOptimizer(slipway::GradientContext& context) override {
    const auto t = static_cast<double>(context.step());
    const double deviation = std::sqrt(eta_ / std::pow(1 + t, gamma_));
    // Of a generator of its own: every rank draws the same, and nobody else's
    // random numbers change.
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(
        context.seed() + static_cast<uint64_t>(context.step()));
    for (auto& [name, tensor] : context.model().NamedParameters()) {
      at::Tensor gradient = tensor.grad();
      if (!gradient.defined()) continue;
      gradient.add_(at::randn(gradient.sizes(), generator, at::kFloat)
                        .to(gradient.options()),
                    deviation);
    }
    return absl::OkStatus();
  }

 private:
  double eta_;
  double gamma_;
};

}  // namespace

SLIPWAY_PLUGIN("com.example.gradient_noise", "1.0.0", GradientNoise);
