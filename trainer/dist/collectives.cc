#include "trainer/dist/collectives.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/zeros.h"

namespace slipway::dist {
namespace {

// What travels in one operation, at most.
constexpr int64_t kBytesAtOnce = int64_t{25} << 20;

bool SameKind(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.device() == b.device();
}

// Lists of tensors of one kind each, in an order that depends on nothing but
// the list.
std::vector<std::vector<at::Tensor>> Parcels(
    const std::vector<at::Tensor>& tensors) {
  std::vector<std::vector<at::Tensor>> parcels;
  std::vector<int64_t> bytes;
  for (const at::Tensor& tensor : tensors) {
    size_t i = 0;
    while (
        i < parcels.size() &&
        !(SameKind(parcels[i][0], tensor) &&
          bytes[i] + static_cast<int64_t>(tensor.nbytes()) <= kBytesAtOnce)) {
      ++i;
    }
    if (i == parcels.size()) {
      parcels.emplace_back();
      bytes.push_back(0);
    }
    parcels[i].push_back(tensor);
    bytes[i] += static_cast<int64_t>(tensor.nbytes());
  }
  return parcels;
}

absl::Status InParcels(
    ProcessGroup& group, const std::vector<at::Tensor>& tensors,
    const std::function<Work(const at::Tensor&)>& operation) {
  if (!group.distributed()) return absl::OkStatus();
  const at::NoGradGuard no_gradients;
  for (const std::vector<at::Tensor>& parcel : Parcels(tensors)) {
    std::vector<at::Tensor> flat;
    for (const at::Tensor& tensor : parcel) {
      flat.push_back(tensor.detach().reshape({-1}));
    }
    const at::Tensor all = at::cat(flat);
    if (absl::Status status = operation(all).Wait(); !status.ok()) {
      return status;
    }
    int64_t offset = 0;
    for (const at::Tensor& tensor : parcel) {
      tensor.detach().copy_(
          all.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
      offset += tensor.numel();
    }
  }
  return absl::OkStatus();
}

at::Tensor BytesOf(const std::string& text, int64_t size) {
  at::Tensor bytes = at::zeros({size}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
  return bytes;
}

std::string TextOf(const at::Tensor& bytes, int64_t size) {
  return {static_cast<const char*>(bytes.const_data_ptr()),
          static_cast<size_t>(size)};
}

}  // namespace

absl::Status BroadcastTensors(ProcessGroup& group,
                              const std::vector<at::Tensor>& tensors) {
  return InParcels(group, tensors, [&](const at::Tensor& flat) {
    return group.Broadcast(flat);
  });
}

absl::Status AllReduceTensors(ProcessGroup& group,
                              const std::vector<at::Tensor>& tensors) {
  return InParcels(group, tensors, [&](const at::Tensor& flat) {
    return group.AllReduce(flat);
  });
}

absl::Status AllReduce(ProcessGroup& group, absl::Span<double> numbers) {
  if (!group.distributed() || numbers.empty()) return absl::OkStatus();
  const at::Tensor all =
      at::empty({static_cast<int64_t>(numbers.size())}, at::kDouble);
  std::copy(numbers.begin(), numbers.end(), all.mutable_data_ptr<double>());
  absl::Status status = group.AllReduce(all).Wait();
  if (status.ok()) {
    std::copy_n(all.const_data_ptr<double>(), numbers.size(), numbers.begin());
  }
  return status;
}

absl::StatusOr<std::vector<std::string>> AllGather(ProcessGroup& group,
                                                   const std::string& text) {
  if (!group.distributed()) return std::vector<std::string>{text};
  const int64_t own = static_cast<int64_t>(text.size());
  const at::Tensor own_size = at::empty({1}, at::kLong);
  *own_size.mutable_data_ptr<int64_t>() = own;
  const auto sizes = group.AllGather(own_size);
  if (!sizes.ok()) return sizes.status();
  // Never empty: an operation on nothing is none.
  int64_t longest = 1;
  for (const at::Tensor& size : *sizes) {
    longest = std::max(longest, *size.const_data_ptr<int64_t>());
  }
  const auto bytes = group.AllGather(BytesOf(text, longest));
  if (!bytes.ok()) return bytes.status();
  std::vector<std::string> texts;
  for (size_t i = 0; i < bytes->size(); ++i) {
    texts.push_back(
        TextOf((*bytes)[i], *(*sizes)[i].const_data_ptr<int64_t>()));
  }
  return texts;
}

absl::StatusOr<std::string> Broadcast(ProcessGroup& group,
                                      const std::string& text) {
  absl::StatusOr<std::vector<std::string>> all = AllGather(group, text);
  if (!all.ok()) return all.status();
  return std::move(all->front());
}

}  // namespace slipway::dist
