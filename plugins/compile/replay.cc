#include "plugins/compile/replay.h"

#include <utility>

#ifdef SLIPWAY_CUDA
#include "ATen/core/grad_mode.h"
#include "ATen/cuda/CUDAGraph.h"
#include "c10/cuda/CUDAFunctions.h"
#include "c10/cuda/CUDAGuard.h"
#include "c10/cuda/CUDAStream.h"
#include "c10/util/Exception.h"
#endif

namespace slipway::compile {

using at::Tensor;

Replay::Replay(Code code, size_t returned)
    : code_(std::move(code)), returned_(returned) {}

Replay::~Replay() = default;

std::vector<Tensor> Replay::Plainly(std::vector<Tensor> inputs) {
  return code_(std::move(inputs));
}

void Replay::NoteWhatMoves(const std::vector<Tensor>& inputs) {
  addresses_.resize(inputs.size());
  moves_.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const void* const now = inputs[i].const_data_ptr();
    if (runs_ > 0 && addresses_[i] != now) moves_[i] = true;
    addresses_[i] = now;
  }
  ++runs_;
}

#ifdef SLIPWAY_CUDA

namespace {

// Libraries choose their kernels, and memory is found, in the first ones.
constexpr int kRunsBefore = 3;
// A model whose tensors move about ever again is no case for a graph.
constexpr int kMaxRecordings = 8;

bool HasSameShapes(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].sizes() != b[i].sizes() || a[i].strides() != b[i].strides()) {
      return false;
    }
  }
  return true;
}

}  // namespace

struct Replay::Recording {
  at::cuda::CUDAGraph graph;
  std::vector<Tensor> inputs;
  std::vector<bool> copied;
  std::vector<Tensor> outputs;

  // Whether all that is not copied lies where the graph looks for it.
  bool FindsAll(const std::vector<Tensor>& now) const {
    for (size_t i = 0; i < now.size(); ++i) {
      if (!copied[i] && now[i].const_data_ptr() != inputs[i].const_data_ptr()) {
        return false;
      }
    }
    return true;
  }

  bool IsHeld(size_t returned) const {
    for (size_t i = returned; i < outputs.size(); ++i) {
      if (outputs[i].storage().use_count() > 1) return true;
    }
    return false;
  }

  std::vector<Tensor> Run(const std::vector<Tensor>& now, size_t returned) {
    const at::NoGradGuard no_gradients;
    for (size_t i = 0; i < now.size(); ++i) {
      if (copied[i]) inputs[i].copy_(now[i]);
    }
    graph.replay();
    std::vector<Tensor> results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      results.push_back(i < returned ? outputs[i].clone()
                                     : outputs[i].detach());
    }
    return results;
  }
};

std::vector<Tensor> Replay::Run(std::vector<Tensor> inputs) {
  if (inputs.empty() || !inputs[0].is_cuda()) {
    return Plainly(std::move(inputs));
  }
  if (recording_ != nullptr && !HasSameShapes(inputs, recording_->inputs)) {
    return Plainly(std::move(inputs));
  }
  NoteWhatMoves(inputs);
  if (recording_ != nullptr && !recording_->FindsAll(inputs)) {
    recording_.reset();
  }
  if (recording_ == nullptr) {
    if (runs_ <= kRunsBefore || recordings_ == kMaxRecordings) {
      return Plainly(std::move(inputs));
    }
    Record(inputs);
  }
  if (recording_ == nullptr || recording_->IsHeld(returned_)) {
    return Plainly(std::move(inputs));
  }
  return recording_->Run(inputs, returned_);
}

// Computes nothing. What cannot be recorded is not tried again.
void Replay::Record(const std::vector<Tensor>& inputs) {
  ++recordings_;
  auto recording = std::make_unique<Recording>();
  recording->copied = moves_;
  for (size_t i = 0; i < inputs.size(); ++i) {
    recording->inputs.push_back(moves_[i] ? inputs[i].detach().clone()
                                          : inputs[i]);
  }
  c10::cuda::device_synchronize();
  const c10::cuda::CUDAStreamGuard aside(c10::cuda::getStreamFromPool());
  try {
    recording->graph.capture_begin();
    recording->outputs = code_(recording->inputs);
    recording->graph.capture_end();
    recording_ = std::move(recording);
  } catch (const c10::Error&) {
    recordings_ = kMaxRecordings;
  }
}

#else

struct Replay::Recording {};

std::vector<Tensor> Replay::Run(std::vector<Tensor> inputs) {
  return Plainly(std::move(inputs));
}

void Replay::Record(const std::vector<Tensor>& /*inputs*/) {}

#endif

}  // namespace slipway::compile
