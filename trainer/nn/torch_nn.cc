#include "trainer/nn/torch_nn.h"

#include <utility>

#include "torch/nn/module.h"
// After LibTorch's headers, which define CHECK too.
#include "glog/logging.h"

namespace slipway::nn {
namespace {

class TorchNnModule : public Module {
 public:
  TorchNnModule(std::shared_ptr<torch::nn::Module> module,
                ForwardFunction forward)
      : module_(std::move(module)), forward_(std::move(forward)) {
    CHECK(module_ != nullptr && forward_ != nullptr);
    module_->train(training());
  }
  std::string kind() const override { return module_->name(); }
  bool opaque() const override { return true; }

 protected:
  Value Forward(const Value& input) override { return forward_(input); }
  std::vector<NamedTensor> OwnParameters() const override {
    std::vector<NamedTensor> parameters;
    for (const auto& item : module_->named_parameters()) {
      parameters.emplace_back(item.key(), item.value());
    }
    return parameters;
  }
  std::vector<NamedTensor> OwnBuffers() const override {
    std::vector<NamedTensor> buffers;
    for (const auto& item : module_->named_buffers()) {
      buffers.emplace_back(item.key(), item.value());
    }
    return buffers;
  }
  void OnTrain(bool on) override { module_->train(on); }

 private:
  std::shared_ptr<torch::nn::Module> module_;
  ForwardFunction forward_;
};

}  // namespace

std::unique_ptr<Module> WrapTorchNn(std::shared_ptr<torch::nn::Module> module,
                                    Module::ForwardFunction forward) {
  return std::make_unique<TorchNnModule>(std::move(module), std::move(forward));
}

}  // namespace slipway::nn
