// Slipway's own version, as MODULE.bazel and result.json tell it.
#ifndef SLIPWAY_TRAINER_VERSION_H_
#define SLIPWAY_TRAINER_VERSION_H_

namespace slipway {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_VERSION_H_
