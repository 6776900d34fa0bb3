#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "c10/core/GradMode.h"
#include "trainer/checkpoint/checkpoint.h"

namespace slipway {
namespace {

// Goes through a checkpoint, constant or not, tensor by tensor.
template <typename Visitor>
class Walk {
 public:
  explicit Walk(Visitor visit) : visit_(visit) {}

  template <typename CheckpointType>
  void Through(CheckpointType& checkpoint) {
    Named("net", checkpoint.net);
    for (auto& [key, tensors] : checkpoint.extra_nets) Named(key, tensors);
    for (auto& [name, state] : checkpoint.optimizer) {
      Named("optimizer/" + name, state);
    }
    Named("scaler", checkpoint.scaler);
    Named("loss", checkpoint.loss);
    Named("grads", checkpoint.grads);
    for (size_t i = 0; i < checkpoint.meters.size(); ++i) {
      visit_(absl::StrCat("meters/", i), checkpoint.meters[i]);
    }
    for (auto& [id, plugin] : checkpoint.plugins) {
      Named("plugins/" + id, plugin.state.tensors);
    }
  }

 private:
  template <typename Tensors>
  void Named(const std::string& folder, Tensors& tensors) {
    for (auto& [name, tensor] : tensors) {
      visit_(absl::StrCat(folder, "/", name), tensor);
    }
  }

  Visitor visit_;
};

}  // namespace

void VisitTensors(
    const Checkpoint& checkpoint,
    absl::FunctionRef<void(const std::string&, const at::Tensor&)> visit) {
  Walk(visit).Through(checkpoint);
}

Checkpoint Copy(const Checkpoint& checkpoint) {
  const c10::NoGradGuard no_gradients;
  Checkpoint copy = checkpoint;
  // Tied weights stay tied: the file then has them once.
  std::map<const c10::TensorImpl*, at::Tensor> copies;
  const auto replace = [&copies](const std::string&, at::Tensor& tensor) {
    if (!tensor.defined()) return;
    at::Tensor& own = copies[tensor.unsafeGetTensorImpl()];
    if (!own.defined()) own = tensor.detach().clone();
    tensor = own;
  };
  Walk(replace).Through(copy);
  return copy;
}

}  // namespace slipway
