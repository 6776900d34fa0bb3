// The plugin syncbn: batch normalisation over the samples of all ranks.
//
// Once the model is made, every batch normalisation layer in it makes room for
// a synchronised one with the same tensors, under the same names: checkpoints
// and parameter groups do not change. In a world of one the model stays as it
// is; the plan has said so.
#ifndef SLIPWAY_PLUGINS_SYNCBN_SYNCBN_H_
#define SLIPWAY_PLUGINS_SYNCBN_SYNCBN_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/plugin/plugin.h"

namespace slipway::syncbn {

class SyncBn : public Plugin {
 public:
  // `config` is empty.
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(
      const recipe::Node& config);

  absl::Status TransformModel(ModelContext& context) override;
};

}  // namespace slipway::syncbn

#endif  // SLIPWAY_PLUGINS_SYNCBN_SYNCBN_H_
