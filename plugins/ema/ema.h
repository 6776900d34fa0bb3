// The plugin ema: evaluation and checkpoints by an average of the weights.
//
// The average moves after every optimizer step that was taken, and t counts
// those; a step that is left out moves nothing. It is swapped in for validation
// and test, so that metrics and the best checkpoint are its own, and stored as
// `ema_net` beside the raw weights. `compat: supergradients` counts batches
// instead, averages after skipped steps too, and leaves integer buffers at
// their first value. Otherwise the average can be part of a compiled step.
#ifndef SLIPWAY_PLUGINS_EMA_EMA_H_
#define SLIPWAY_PLUGINS_EMA_EMA_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plugins/ema/decay.h"
#include "plugins/ema/weight_average.h"
#include "trainer/plugin/plugin.h"
#include "trainer/plugin/step_update.h"

namespace slipway::ema {

class Ema : public Plugin, public StepUpdate {
 public:
  // `config` has decay, decay_type (constant, threshold, exp) and beta.
  // INVALID_ARGUMENT lists what is wrong with it.
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(
      const recipe::Node& config);

  explicit Ema(const Decay& decay) : decay_(decay) {}

  absl::Status AfterLoad(CheckpointContext& context) override;
  absl::Status FitBegin(FitContext& context) override;
  absl::Status AfterOptimizer(StepContext& context) override;
  absl::Status EvalBegin(EvalContext& context) override;
  absl::Status BeforeSave(CheckpointContext& context) override;
  absl::StatusOr<PluginState> SaveState() override;
  absl::Status LoadState(int version, const PluginState& state) override;

  const void* Query(std::string_view interface) override;
  absl::StatusOr<std::vector<nn::NamedTensor>> UpdatedTensors() override;
  absl::StatusOr<std::vector<double>> StepNumbers(
      const StepContext& context,
      const std::vector<double>& learning_rates) override;
  void Update(const std::vector<at::Tensor>& numbers) override;
  void TookStep() override;

 private:
  Decay decay_;
  int64_t updates_ = 0;
  bool updates_known_ = false;              // loaded, since BeforeLoad
  bool counts_batches_ = false;             // compat: supergradients
  std::unique_ptr<WeightAverage> average_;  // from FitBegin on
  // Loaded, but not yet the average.
  std::optional<std::vector<nn::NamedTensor>> loaded_;
};

}  // namespace slipway::ema

#endif  // SLIPWAY_PLUGINS_EMA_EMA_H_
