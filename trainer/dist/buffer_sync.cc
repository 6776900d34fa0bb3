#include "trainer/dist/buffer_sync.h"

#include "ATen/core/grad_mode.h"
#include "ATen/ops/empty.h"

namespace slipway::dist {

BufferSync::BufferSync(ProcessGroup& group,
                       const std::vector<at::Tensor>& buffers,
                       BufferPolicy policy)
    : group_(group), policy_(policy) {
  const at::NoGradGuard no_gradients;
  if (!group_.distributed()) return;
  for (const at::Tensor& buffer : buffers) {
    if (buffer.is_floating_point() && buffer.numel() > 0) Add(buffer);
  }
  for (Parcel& parcel : parcels_) {
    int64_t size = 0;
    for (const at::Tensor& buffer : parcel.buffers) size += buffer.numel();
    parcel.flat = at::empty({size}, parcel.buffers[0].options());
    int64_t offset = 0;
    for (const at::Tensor& buffer : parcel.buffers) {
      parcel.views.push_back(
          parcel.flat.narrow(0, offset, buffer.numel()).view(buffer.sizes()));
      parcel.views.back().copy_(buffer);
      offset += buffer.numel();
    }
  }
}

void BufferSync::Add(const at::Tensor& buffer) {
  for (Parcel& parcel : parcels_) {
    if (parcel.buffers[0].scalar_type() == buffer.scalar_type() &&
        parcel.buffers[0].device() == buffer.device()) {
      parcel.buffers.push_back(buffer);
      return;
    }
  }
  parcels_.emplace_back().buffers = {buffer};
}

void BufferSync::Begin(bool as_before) {
  const at::NoGradGuard no_gradients;
  for (Parcel& parcel : parcels_) {
    for (size_t i = 0; i < parcel.buffers.size() && !as_before; ++i) {
      parcel.views[i].copy_(parcel.buffers[i]);
    }
    if (policy_ == BufferPolicy::kReduce) {
      parcel.flat.mul_(1.0 / group_.world_size());
      parcel.work = group_.AllReduce(parcel.flat);
    } else {
      parcel.work = group_.Broadcast(parcel.flat);
    }
  }
}

absl::Status BufferSync::Finish() {
  const at::NoGradGuard no_gradients;
  for (Parcel& parcel : parcels_) {
    if (absl::Status status = parcel.work.Wait(); !status.ok()) return status;
    for (size_t i = 0; i < parcel.buffers.size(); ++i) {
      parcel.buffers[i].copy_(parcel.views[i]);
    }
  }
  return absl::OkStatus();
}

}  // namespace slipway::dist
