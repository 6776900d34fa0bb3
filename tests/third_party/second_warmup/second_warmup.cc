// A warm-up along half a cosine, as another library has it.
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "trainer/plugin/plugin.h"
#include "trainer/recipe/params.h"

namespace {

class CosineWarmup : public slipway::Warmup {
 public:
  explicit CosineWarmup(int64_t steps) : steps_(steps) {}
  int64_t epochs() const override { return 0; }
  int64_t steps() const override { return steps_; }
  std::optional<double> Rate(
      std::string_view /*group*/, double initial_lr,
      const slipway::SchedulePlace& place) const override {
    const int64_t step = place.global_batch();
    if (step >= place.warmup_steps) return std::nullopt;
    const double done = static_cast<double>(step + 1) /
                        static_cast<double>(place.warmup_steps + 1);
    return initial_lr * (1 - std::cos(M_PI * done)) / 2;
  }

 private:
  int64_t steps_;
};

class SecondWarmup : public slipway::Plugin {
 public:
  explicit SecondWarmup(int64_t steps) : steps_(steps) {}

  static absl::StatusOr<std::unique_ptr<slipway::Plugin>> Create(
      const slipway::recipe::Node& config) {
    slipway::Problems problems;
    slipway::recipe::Params params(config, "second_warmup", problems);
    const int64_t steps = params.Int("steps", {.fallback = 10, .min = 1});
    params.Finish();
    if (slipway::HasErrors(problems)) {
      return absl::InvalidArgumentError(slipway::FormatProblems(problems));
    }
    return std::make_unique<SecondWarmup>(steps);
  }

  absl::Status Configure(slipway::ConfigureContext& context) override {
    context.SetWarmup(std::make_unique<CosineWarmup>(steps_));
    return absl::OkStatus();
  }

 private:
  int64_t steps_;
};

}  // namespace

SLIPWAY_PLUGIN("com.example.second_warmup", "1.0.0", SecondWarmup);
