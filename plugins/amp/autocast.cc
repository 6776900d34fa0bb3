#include "plugins/amp/autocast.h"

// What ATen/autocast_mode.h declares of these, without its cost: it includes
// every operator of ATen, 15 seconds of compilation. The linker tells if
// one of them is called otherwise in another LibTorch.
namespace at::autocast {
bool is_autocast_enabled(at::DeviceType device);
void set_autocast_enabled(at::DeviceType device, bool enabled);
at::ScalarType get_autocast_dtype(at::DeviceType device);
void set_autocast_dtype(at::DeviceType device, at::ScalarType dtype);
void clear_cache();
int increment_nesting();
int decrement_nesting();
}  // namespace at::autocast

namespace slipway::amp {
namespace {

class AutocastScope : public Scope {
 public:
  AutocastScope(at::DeviceType device, at::ScalarType dtype)
      : device_(device),
        was_enabled_(at::autocast::is_autocast_enabled(device)),
        old_dtype_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::set_autocast_enabled(device, true);
    at::autocast::set_autocast_dtype(device, dtype);
    at::autocast::increment_nesting();
  }

  ~AutocastScope() override {
    // Cached casts are of weights that the next step changes.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_dtype(device_, old_dtype_);
    at::autocast::set_autocast_enabled(device_, was_enabled_);
  }

 private:
  at::DeviceType device_;
  bool was_enabled_;
  at::ScalarType old_dtype_;
};

}  // namespace

std::unique_ptr<Scope> Autocast(at::DeviceType device, at::ScalarType dtype) {
  return std::make_unique<AutocastScope>(device, dtype);
}

}  // namespace slipway::amp
