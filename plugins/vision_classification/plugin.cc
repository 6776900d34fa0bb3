// The plugin vision_classification: components only.
#include "trainer/plugin/plugin.h"

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "plugins/vision_classification/batches/batches.h"
#include "plugins/vision_classification/datasets/datasets.h"
#include "plugins/vision_classification/losses/cross_entropy.h"
#include "plugins/vision_classification/metrics/accuracy.h"
#include "plugins/vision_classification/models/models.h"
#include "plugins/vision_classification/transforms/transforms.h"

namespace slipway::vision_classification {
namespace {

void RegisterModels(Components& components) {
  for (const std::string& name : ModelNames()) {
    components.models.Add(name, [name](const BuildArgs& args) {
      return MakeModel(name, args.params, args.problems);
    });
  }
}

class VisionClassification : public Plugin {
 public:
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(
      const recipe::Node& config) {
    return std::make_unique<VisionClassification>();
  }

  void Register(Components& components) override {
    RegisterModels(components);
    RegisterBatches(components);
    RegisterDatasets(components);
    RegisterTransforms(components);
    RegisterLosses(components);
    RegisterMetrics(components);
  }
};

}  // namespace
}  // namespace slipway::vision_classification

SLIPWAY_PLUGIN("vision_classification", "1.0.0",
               slipway::vision_classification::VisionClassification);
