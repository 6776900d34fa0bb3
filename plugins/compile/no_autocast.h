// Autocast switched off: in compiled code, whose casts are its own, and in
// backward passes, which training runs outside of autocast.
//
//   const NoAutocast no_autocast;
//
#ifndef SLIPWAY_PLUGINS_COMPILE_NO_AUTOCAST_H_
#define SLIPWAY_PLUGINS_COMPILE_NO_AUTOCAST_H_

#include "c10/core/impl/LocalDispatchKeySet.h"

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

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_NO_AUTOCAST_H_
