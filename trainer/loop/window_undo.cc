#include "trainer/loop/window_undo.h"

#include "ATen/core/grad_mode.h"
#include "trainer/nn/generator_state.h"

namespace slipway::loop {
namespace {

// Whose generators a training draws from.
std::vector<at::Device> Devices(const TrainingState& state) {
  if (state.device.is_cpu()) return {at::kCPU};
  return {at::kCPU, state.device};
}

std::vector<at::Tensor> Clones(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> clones;
  for (const at::Tensor& tensor : tensors) clones.push_back(tensor.clone());
  return clones;
}

// Meters may appear with a metric's first batch: then there were none.
void RestoreMeters(Metric& metric, const std::vector<at::Tensor>& was) {
  const std::vector<at::Tensor> meters = metric.Meters();
  if (meters.size() != was.size()) {
    metric.Reset();
    return;
  }
  for (size_t i = 0; i < meters.size(); ++i) meters[i].copy_(was[i]);
}

}  // namespace

WindowUndo::WindowUndo(const TrainingState& state, const Loss* loss,
                       const MetricList& metrics, LossMeter& meter)
    : state_(state),
      loss_(loss),
      metrics_(metrics),
      meter_(meter),
      mean_loss_(meter) {}

std::vector<at::Tensor> WindowUndo::Written() const {
  std::vector<at::Tensor> tensors;
  for (auto& [name, buffer] : state_.model->NamedBuffers()) {
    tensors.push_back(std::move(buffer));
  }
  if (loss_ == nullptr) return tensors;
  for (auto& [name, tensor] : loss_->State()) {
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

void WindowUndo::Mark() {
  const at::NoGradGuard no_gradients;
  const std::vector<at::Tensor> tensors = Written();
  copies_.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    Copy& copy = copies_[i];
    if (copy.live.is_same(tensors[i])) {
      copy.was.copy_(tensors[i]);
    } else {
      copy = {.live = tensors[i], .was = tensors[i].clone()};
    }
  }
  generators_.clear();
  for (const at::Device device : Devices(state_)) {
    generators_.push_back(nn::GeneratorState(device));
  }
  MarkMeters();
}

void WindowUndo::MarkMeters() {
  meters_.clear();
  for (const auto& metric : metrics_)
    meters_.push_back(Clones(metric->Meters()));
  mean_loss_ = meter_;
}

void WindowUndo::Undo() {
  const at::NoGradGuard no_gradients;
  for (const Copy& copy : copies_) copy.live.copy_(copy.was);
  const std::vector<at::Device> devices = Devices(state_);
  for (size_t i = 0; i < generators_.size(); ++i) {
    nn::SetGeneratorState(devices[i], generators_[i]);
  }
  for (size_t i = 0; i < meters_.size(); ++i) {
    RestoreMeters(*metrics_[i], meters_[i]);
  }
  meter_ = mean_loss_;
  state_.optimizer->ZeroGrad();
}

}  // namespace slipway::loop
