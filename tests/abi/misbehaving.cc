// Does at one hook what its configuration says: {at: FitBegin, how: int}.
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "c10/util/Exception.h"
#include "trainer/plugin/testing/every_hook.h"

namespace slipway {
namespace {

absl::Status Misbehave(const std::string& how) {
  if (how == "standard") throw std::runtime_error("out of rope");
  if (how == "libtorch") TORCH_CHECK(false, "out of rope");
  if (how == "int") throw 42;
  if (how == "crash") std::abort();
  if (how == "refuse") return absl::InvalidArgumentError("how: no rope");
  return absl::InternalError("out of rope");
}

class Flat : public Schedule {
 public:
  double Rate(double initial_lr, const SchedulePlace& place) const override {
    return initial_lr;
  }
};

class Misbehaving : public EveryHook {
 public:
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(
      const recipe::Node& config) {
    auto plugin = std::make_unique<Misbehaving>(config);
    if (plugin->at_ == "Nothing") return nullptr;
    const absl::Status status = plugin->At("Create");
    if (!status.ok()) return status;
    return plugin;
  }

  explicit Misbehaving(const recipe::Node& config)
      : at_(config.Find("at")->AsString()),
        how_(config.Find("how")->AsString()) {}

  void Register(Components& components) override {
    At("Register").IgnoreError();
    components.schedules.Add(
        "Flat", [](const BuildArgs&) { return std::make_unique<Flat>(); });
  }

  absl::Status At(std::string_view hook) override {
    return hook == at_ ? Misbehave(how_) : absl::OkStatus();
  }

  // The core's own, as this library sees it.
  const void* Query(std::string_view interface) override {
    if (interface != "test.core_address/1") return nullptr;
    return reinterpret_cast<const void*>(&CurrentExceptionStatus);
  }

 private:
  std::string at_;
  std::string how_;
};

}  // namespace
}  // namespace slipway

SLIPWAY_PLUGIN(PLUGIN_ID, "1.0.0", slipway::Misbehaving);
