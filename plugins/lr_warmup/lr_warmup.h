// The plugin lr_warmup: chooses the warm-up that a recipe asks for.
#ifndef SLIPWAY_PLUGINS_LR_WARMUP_LR_WARMUP_H_
#define SLIPWAY_PLUGINS_LR_WARMUP_LR_WARMUP_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plugins/lr_warmup/warmups.h"
#include "trainer/plugin/plugin.h"

namespace slipway::lr_warmup {

// The manifest's configuration.
struct Options {
  bool by_step = false;  // LinearBatchLRWarmup instead of LinearEpochLRWarmup
  int64_t epochs = 0;
  int64_t steps = 0;
  StartRates start;
  bool auto_lr = false;
};

class LrWarmup : public Plugin {
 public:
  // INVALID_ARGUMENT lists what is wrong with `config`; a warm-up in steps
  // without initial_lr is.
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(
      const recipe::Node& config);

  explicit LrWarmup(Options options) : options_(std::move(options)) {}

  absl::Status Configure(ConfigureContext& context) override;

 private:
  Options options_;
};

}  // namespace slipway::lr_warmup

#endif  // SLIPWAY_PLUGINS_LR_WARMUP_LR_WARMUP_H_
