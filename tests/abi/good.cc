#include "trainer/plugin/plugin.h"

namespace {

using slipway::Plugin;

class Good : public Plugin {
 public:
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(
      const slipway::recipe::Node& config) {
    return std::make_unique<Good>();
  }
};

}  // namespace

SLIPWAY_PLUGIN("good", "1.0.0", Good);
