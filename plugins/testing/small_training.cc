#include "plugins/testing/small_training.h"

#include <map>
#include <string>
#include <utility>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/argmax.h"
#include "ATen/ops/log_softmax.h"
#include "ATen/ops/relu.h"
#include "ATen/ops/scalar_tensor.h"
#include "ATen/ops/zeros.h"
#include "ATen/ops/zeros_like.h"
#include "absl/status/status.h"
#include "trainer/data/loader.h"
#include "trainer/data/rng.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/dropout.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"

namespace slipway::testing {
namespace {

constexpr int64_t kSide = 8;
constexpr int64_t kChannels = 4;

class Images : public data::Dataset {
 public:
  explicit Images(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }

  absl::StatusOr<data::Sample> Get(int64_t index) const override {
    data::Rng rng(11, 0, index);
    const bool right = rng.Uniform() < 0.5;
    data::Sample sample;
    sample.image = at::zeros({1, kSide, kSide});
    auto* const pixels = sample.image.data_ptr<float>();
    for (int64_t i = 0; i < kSide * kSide; ++i) {
      const bool here = (i % kSide >= kSide / 2) == right;
      pixels[i] = static_cast<float>(rng.Normal() + (here ? 0.7 : 0));
    }
    sample.target = at::scalar_tensor(right ? 1 : 0, at::kLong);
    return sample;
  }

 private:
  int64_t size_;
};

class Net : public nn::TensorModule {
 public:
  Net()
      : conv_(Add("conv", nn::Conv2d({.in = 1,
                                      .out = kChannels,
                                      .kernel = 3,
                                      .stride = 2,
                                      .padding = 1,
                                      .bias = false}))),
        bn_(Add("bn", nn::BatchNorm2d(kChannels))),
        dropout_(Add("dropout", nn::Dropout(0.1))),
        linear_(Add("linear", nn::Linear({.in = kChannels * kSide * kSide / 4,
                                          .out = 2}))) {
    set_head("linear");
    FillIn();
  }
  std::string kind() const override { return "SmallNet"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return linear_(dropout_(at::relu(bn_(conv_(x))).flatten(1)));
  }

 private:
  // Weights of its own, whatever the generator's state.
  void FillIn() {
    const at::NoGradGuard no_gradients;
    data::Rng rng(12, 0, 0);
    for (const char* name : {"conv", "linear"}) {
      for (auto& [parameter, tensor] : Find(name)->NamedParameters()) {
        at::Tensor flat = tensor.view({-1});
        for (int64_t i = 0; i < flat.numel(); ++i) {
          flat.data_ptr<float>()[i] = static_cast<float>(rng.Normal() * 0.2);
        }
      }
    }
  }

  nn::Child conv_, bn_, dropout_, linear_;
};

class CrossEntropy : public Loss {
 public:
  absl::StatusOr<LossOutput> Compute(const Value& prediction,
                                     const Value& target) override {
    const at::Tensor log = at::log_softmax(prediction.tensor(), 1);
    LossOutput loss;
    loss.total = log.gather(1, target.tensor().unsqueeze(1)).mean().neg();
    return loss;
  }
};

class Accuracy : public Metric {
 public:
  void Reset() override { meter_.zero_(); }
  absl::Status Update(const Value& prediction, const Value& target,
                      int64_t valid) override {
    const at::Tensor right =
        at::argmax(prediction.tensor(), 1).eq(target.tensor());
    meter_[0].add_(right.narrow(0, 0, valid).sum());
    meter_[1].add_(valid);
    return absl::OkStatus();
  }
  std::vector<std::pair<std::string, double>> Compute() const override {
    const double all = meter_[1].item().toDouble();
    return {{"Accuracy", meter_[0].item().toDouble() / all}};
  }
  std::vector<at::Tensor> Meters() override { return {meter_}; }

 private:
  at::Tensor meter_ = at::zeros({2}, at::kLong);  // how many right, of how many
};

class Momentum : public Optimizer {
 public:
  explicit Momentum(std::vector<ParameterGroup> groups)
      : Optimizer(std::move(groups)) {}

  absl::Status Step(const std::vector<double>& learning_rates) override {
    const at::NoGradGuard no_gradients;
    for (size_t i = 0; i < groups_.size(); ++i) {
      for (auto& [name, parameter] : groups_[i].parameters) {
        const at::Tensor& gradient = parameter.grad();
        if (!gradient.defined()) continue;
        at::Tensor& buffer = buffers_[name];
        if (!buffer.defined()) buffer = at::zeros_like(parameter);
        buffer.mul_(0.9).add_(gradient);
        parameter.sub_(buffer, learning_rates[i]);
      }
    }
    return absl::OkStatus();
  }

  std::vector<std::pair<std::string, OptimizerState>> State() const override {
    std::vector<std::pair<std::string, OptimizerState>> state;
    for (const auto& [name, buffer] : buffers_) {
      state.push_back({name, {{"momentum_buffer", buffer}}});
    }
    return state;
  }

  absl::Status LoadState(
      const std::vector<std::pair<std::string, OptimizerState>>& state)
      override {
    buffers_.clear();
    for (const auto& [name, tensors] : state) {
      for (const auto& [entry, tensor] : tensors) {
        buffers_[name] = tensor.detach().clone();
      }
    }
    return absl::OkStatus();
  }

 private:
  std::map<std::string, at::Tensor> buffers_;
};

std::unique_ptr<data::Loader> Share(const SmallOptions& options,
                                    int64_t batches, bool evaluation) {
  data::LoaderParts parts;
  parts.dataset =
      SmallImages(batches * options.batch_size * options.world_size);
  data::LoaderOptions loader;
  loader.batch_size = options.batch_size;
  loader.shuffle = !evaluation;
  loader.rank = options.rank;
  loader.world_size = options.world_size;
  loader.evaluation = evaluation;
  return std::make_unique<data::Loader>(std::move(parts), loader);
}

std::unique_ptr<Metric> SmallAccuracy() {
  auto accuracy = std::make_unique<Accuracy>();
  accuracy->Reset();
  return accuracy;
}

}  // namespace

std::unique_ptr<data::Dataset> SmallImages(int64_t size) {
  return std::make_unique<Images>(size);
}

std::unique_ptr<nn::Module> SmallNet() { return std::make_unique<Net>(); }

std::unique_ptr<Loss> SmallLoss() { return std::make_unique<CrossEntropy>(); }

std::unique_ptr<Optimizer> SmallOptimizer(std::vector<ParameterGroup> groups) {
  return std::make_unique<Momentum>(std::move(groups));
}

loop::TrainerParts SmallTraining(const SmallOptions& options) {
  loop::TrainerParts parts;
  parts.model = SmallNet();
  parts.train_loader = Share(options, options.batches, false);
  parts.valid_loader = Share(options, 2, true);
  parts.loss = SmallLoss();
  parts.loss_name = "SmallLoss";
  parts.train_metrics.push_back(SmallAccuracy());
  parts.valid_metrics.push_back(SmallAccuracy());
  parts.make_optimizer = [](std::vector<ParameterGroup> groups, Problems&) {
    return SmallOptimizer(std::move(groups));
  };
  return parts;
}

}  // namespace slipway::testing
