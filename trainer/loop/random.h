// The default random generators of LibTorch, which initialisers and dropout
// draw from. (Data has counter-based generators of its own, data/rng.h.)
#ifndef SLIPWAY_TRAINER_LOOP_RANDOM_H_
#define SLIPWAY_TRAINER_LOOP_RANDOM_H_

#include <cstdint>
#include <string>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"

namespace slipway::loop {

// Seeds the CPU's generator, and that of `device`.
void SeedGenerators(uint64_t seed, at::Device device);

// The state of a device's generator as opaque bytes, for checkpoints.
std::string GeneratorState(at::Device device);
// Puts it back. INVALID_ARGUMENT for bytes that are no state of such a device's
// generator.
absl::Status SetGeneratorState(at::Device device, const std::string& bytes);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_RANDOM_H_
