// The device that trains: its memory, and batches on it.
#ifndef SLIPWAY_TRAINER_LOOP_DEVICE_H_
#define SLIPWAY_TRAINER_LOOP_DEVICE_H_

#include <cstdint>
#include <optional>

#include "ATen/core/Tensor.h"
#include "trainer/data/dataset.h"

namespace slipway::loop {

// The most bytes of tensors that `device` held at once; nullopt for the CPU.
std::optional<int64_t> PeakDeviceMemory(at::Device device);

// Moves input, target and extra to `device`; copies nothing that is there
// already. The copies need not be done when this returns: later work on the
// device waits for them. May throw c10::Error.
void MoveTo(at::Device device, data::Batch& batch);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_DEVICE_H_
