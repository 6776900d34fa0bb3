// The symbols that a shared library gives to others.
//
//   absl::StatusOr<std::vector<std::string>> names =
//       ExportedSymbols("plugins/ema/libema.so");
//   // {"slipway_plugin_entry_v1"}
//
// Reads the file and loads nothing: 64-bit ELF of this machine's byte order,
// whatever is wrong with it.
#ifndef SLIPWAY_TRAINER_INSPECT_EXPORTS_H_
#define SLIPWAY_TRAINER_INSPECT_EXPORTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace slipway::inspect {

// Sorted, each once, as the linker sees them. INVALID_ARGUMENT if the file is
// no such library or is damaged.
absl::StatusOr<std::vector<std::string>> ExportedSymbols(
    const std::string& path);

}  // namespace slipway::inspect

#endif  // SLIPWAY_TRAINER_INSPECT_EXPORTS_H_
