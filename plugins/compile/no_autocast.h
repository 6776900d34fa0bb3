// Autocast switched off: in compiled code, whose casts are its own, and in
// backward passes, which training runs outside of autocast. And its memory of
// weights that it has cast, switched off where a model runs more often than
// once in a step: a cast that was made without gradients would be taken for one
// with.
//
//   const NoAutocast no_autocast;
//   const NoAutocastCache every_cast_anew;
//
#ifndef SLIPWAY_PLUGINS_COMPILE_NO_AUTOCAST_H_
#define SLIPWAY_PLUGINS_COMPILE_NO_AUTOCAST_H_

#include "c10/core/impl/LocalDispatchKeySet.h"
#include "torch/headeronly/macros/Export.h"

// ATen/autocast_mode.h has them, and half of LibTorch with them.
namespace at::autocast {
TORCH_API void clear_cache();
TORCH_API bool is_autocast_cache_enabled();
TORCH_API void set_autocast_cache_enabled(bool enabled);
}  // namespace at::autocast

namespace slipway::compile {

// In this thread, for as long as it lives.
class NoAutocast {
 public:
  NoAutocast()
      : guard_(c10::DispatchKeySet(
            {c10::DispatchKey::AutocastCPU, c10::DispatchKey::AutocastCUDA})) {}

 private:
  c10::impl::ExcludeDispatchKeyGuard guard_;
};

// Likewise.
class NoAutocastCache {
 public:
  NoAutocastCache() : was_enabled_(at::autocast::is_autocast_cache_enabled()) {
    at::autocast::clear_cache();
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~NoAutocastCache() { at::autocast::set_autocast_cache_enabled(was_enabled_); }
  NoAutocastCache(const NoAutocastCache&) = delete;
  NoAutocastCache& operator=(const NoAutocastCache&) = delete;

 private:
  bool was_enabled_;
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_NO_AUTOCAST_H_
