#include "trainer/loop/device.h"

#include "c10/core/CachingDeviceAllocator.h"

namespace slipway::loop {
namespace {

void Move(at::Device device, Value& value) {
  if (value.empty()) return;
  value = value.Transform([device](const at::Tensor& tensor) {
    return tensor.to(tensor.options().device(device), /*non_blocking=*/true);
  });
}

}  // namespace

std::optional<int64_t> PeakDeviceMemory(at::Device device) {
  if (device.is_cpu()) return std::nullopt;
  const auto stats =
      c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  return stats.allocated_bytes[0].peak;
}

void MoveTo(at::Device device, data::Batch& batch) {
  // The pipeline makes its batches on the CPU.
  if (device.is_cpu()) return;
  Move(device, batch.input);
  Move(device, batch.target);
  Move(device, batch.extra);
}

}  // namespace slipway::loop
