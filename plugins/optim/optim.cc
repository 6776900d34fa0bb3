// The plugin optim: components only.
#include <memory>

#include "absl/status/statusor.h"
#include "plugins/optim/factories.h"
#include "trainer/plugin/plugin.h"

namespace slipway::optim {
namespace {

class Optim : public Plugin {
 public:
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(
      const recipe::Node& config) {
    return std::make_unique<Optim>();
  }

  void Register(Components& components) override {
    RegisterOptimizers(components);
    RegisterSchedules(components);
  }
};

}  // namespace
}  // namespace slipway::optim

SLIPWAY_PLUGIN("optim", "1.0.0", slipway::optim::Optim);
