// The plugin amp: forward and loss in bf16 or fp16 where that is faster.
//
// Weights, gradients and optimizer stay in float32, and so does evaluation. In
// fp16 the loss is scaled. On a CPU that has no bf16 instructions the plugin
// does nothing (the plan has warned then), unless it is forced.
#ifndef SLIPWAY_PLUGINS_AMP_AMP_H_
#define SLIPWAY_PLUGINS_AMP_AMP_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plugins/amp/precision.h"
#include "trainer/plan/environment.h"
#include "trainer/plugin/plugin.h"

namespace slipway::amp {

class Amp : public Plugin {
 public:
  // `config` has dtype (auto, bf16, fp16) and force. INVALID_ARGUMENT lists
  // what is wrong with it.
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(
      const recipe::Node& config);

  // `environment` tells what the CPU can do.
  Amp(const Options& options, plan::Environment environment)
      : options_(options), environment_(std::move(environment)) {}

  absl::Status Configure(ConfigureContext& context) override;
  absl::Status BeforeForward(ForwardContext& context) override;

 private:
  Options options_;
  plan::Environment environment_;
  std::optional<Precision> precision_;  // from Configure on; null: off
};

}  // namespace slipway::amp

#endif  // SLIPWAY_PLUGINS_AMP_AMP_H_
