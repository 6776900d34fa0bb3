// Errors that say where they arose.
//
//   return WithPrefix(path, status);   // "model.pth: not a zip file"
//
// No LibTorch.
#ifndef SLIPWAY_TRAINER_PLUGIN_WITH_PREFIX_H_
#define SLIPWAY_TRAINER_PLUGIN_WITH_PREFIX_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace slipway {

// `status` with "<prefix>: " before its message: of the same code, and with the
// same payloads. An empty message becomes the code's name. OK stays OK.
absl::Status WithPrefix(absl::string_view prefix, const absl::Status& status);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_WITH_PREFIX_H_
