#include "trainer/loop/stateful.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/rand.h"
#include "ATen/ops/zeros.h"
#include "ATen/ops/zeros_like.h"
#include "gtest/gtest.h"
#include "trainer/loop/fixtures.h"
#include "trainer/nn/layers/activation.h"
#include "trainer/nn/layers/dropout.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/plan/names.h"

namespace slipway::loop {
namespace {

using recipe::Node;

class Momentum : public Optimizer {
 public:
  explicit Momentum(std::vector<ParameterGroup> groups)
      : Optimizer(std::move(groups)) {}

  absl::Status Step(const std::vector<double>& rates) override {
    const at::NoGradGuard no_gradients;
    for (size_t i = 0; i < groups_.size(); ++i) {
      for (auto& [name, parameter] : groups_[i].parameters) {
        if (!parameter.grad().defined()) continue;
        at::Tensor& buffer = buffers_[name];
        if (!buffer.defined()) buffer = at::zeros_like(parameter);
        buffer.mul_(0.9).add_(parameter.grad());
        parameter.sub_(buffer, rates[i]);
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
    for (const auto& [name, entry] : state) {
      if (!Knows(name)) {
        return absl::InvalidArgumentError("unexpected parameter " + name);
      }
    }
    buffers_.clear();
    for (const auto& [name, entry] : state) {
      buffers_[name] = entry[0].second.clone();
    }
    return absl::OkStatus();
  }

 private:
  bool Knows(const std::string& name) const {
    for (const ParameterGroup& group : groups_) {
      for (const auto& [known, parameter] : group.parameters) {
        if (known == name) return true;
      }
    }
    return false;
  }

  std::map<std::string, at::Tensor> buffers_;
};

class DoublingScaler : public GradientScaler {
 public:
  at::Tensor Scale(const at::Tensor& loss) override { return loss.mul(scale_); }
  at::Tensor Unscale(const std::vector<at::Tensor>& gradients) override {
    const at::NoGradGuard no_gradients;
    for (const at::Tensor& gradient : gradients) gradient.div_(scale_);
    return at::zeros({});
  }
  void Update(bool) override {
    tracker_.add_(1);
    if (tracker_.item().toInt() < 3) return;
    tracker_.zero_();
    scale_.mul_(2);
  }
  double scale() const override { return scale_.item().toDouble(); }
  std::vector<std::pair<std::string, at::Tensor>> State() override {
    return {{"scale", scale_}, {"growth_tracker", tracker_}};
  }

 private:
  at::Tensor scale_ = at::full({}, 16.0);
  at::Tensor tracker_ = at::zeros({}, at::kInt);
};

// Weighs the loss by a number that is drawn anew for each epoch, and averages
// the first layer.
class StatefulPlugin : public Plugin {
 public:
  explicit StatefulPlugin(Stateful setting) : setting_(std::move(setting)) {}

  absl::Status Configure(ConfigureContext& context) override {
    context.SetGradientScaler(std::make_unique<DoublingScaler>());
    return absl::OkStatus();
  }
  absl::Status BatchFetched(BatchContext& context) override {
    if (setting_.on_batch) setting_.on_batch(context);
    return absl::OkStatus();
  }
  absl::Status AfterLoss(OutputContext& context) override {
    context.loss().total = context.loss().total.mul(weight_);
    return absl::OkStatus();
  }
  absl::Status MicroEnd(GradientContext& context) override {
    const bool due = context.step() == setting_.skipped_step;
    if (due && !std::exchange(skipped_, true)) {
      context.control().SkipStep("it is due");
    }
    return absl::OkStatus();
  }
  absl::Status AfterOptimizer(StepContext& context) override {
    if (!context.step_taken()) return absl::OkStatus();
    const at::NoGradGuard no_gradients;
    const at::Tensor first = context.model().NamedParameters()[0].second;
    if (!average_.defined()) average_ = at::zeros_like(first);
    ++updates_;
    average_.lerp_(first, 1.0 / updates_);
    return absl::OkStatus();
  }
  absl::Status EpochEnd(FitContext&) override {
    weight_ = 1 + at::rand({}).item().toDouble();
    return absl::OkStatus();
  }
  absl::Status EvalBatchEnd(EvalContext& context) override {
    if (setting_.on_eval_batch) setting_.on_eval_batch(context);
    return absl::OkStatus();
  }

  absl::Status BeforeSave(CheckpointContext& context) override {
    if (average_.defined()) context.SetTensors("average", {{"it", average_}});
    return absl::OkStatus();
  }
  absl::Status AfterLoad(CheckpointContext& context) override {
    const auto* found = context.FindTensors("average");
    average_ = found != nullptr ? found->front().second.clone() : at::Tensor();
    return absl::OkStatus();
  }
  absl::StatusOr<PluginState> SaveState() override {
    PluginState state;
    state.values = Node::Map();
    state.values.Set("updates", Node::Int(updates_));
    state.values.Set("skipped", Node::Bool(skipped_));
    state.values.Set("weight", Node::Float(weight_));
    return state;
  }
  absl::Status LoadState(int, const PluginState& state) override {
    updates_ = state.values.Find("updates")->AsInt();
    skipped_ = state.values.Find("skipped")->AsBool();
    weight_ = state.values.Find("weight")->AsDouble();
    return absl::OkStatus();
  }

 private:
  const Stateful setting_;
  int64_t updates_ = 0;
  bool skipped_ = false;
  double weight_ = 1;
  at::Tensor average_;
};

std::unique_ptr<nn::Module> Net() {
  nn::NamedModuleList layers;
  layers.emplace_back("in", nn::Linear({.in = 2, .out = 8}));
  layers.emplace_back("bn", nn::BatchNorm1d({.features = 8}));
  layers.emplace_back("relu", nn::ReLU());
  layers.emplace_back("drop", nn::Dropout(0.25));
  layers.emplace_back("out", nn::Linear({.in = 8, .out = 2}));
  auto net = nn::NamedSequential(std::move(layers));
  // Neither zero nor random, so that two nets start alike.
  const at::NoGradGuard no_gradients;
  for (auto& [name, parameter] : net->NamedParameters()) {
    at::Tensor flat = parameter.flatten();
    for (int64_t i = 0; i < flat.numel(); ++i) {
      flat[i].fill_(0.1 + 0.07 * static_cast<double>(i % 9 - 4));
    }
  }
  return net;
}

std::unique_ptr<data::Loader> ShuffledPoints(const Stateful& setting) {
  data::LoaderParts parts;
  parts.dataset = Points(setting.samples, setting.fault);
  data::LoaderOptions options;
  options.batch_size = setting.batch_size;
  options.shuffle = true;
  options.seed = 11;
  options.num_workers = setting.workers;
  options.prefetch = 2;
  return std::make_unique<data::Loader>(std::move(parts), options);
}

std::string Bytes(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().contiguous();
  return {static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()};
}

std::map<std::string, std::string> TensorBytes(const Checkpoint& checkpoint) {
  std::map<std::string, std::string> bytes;
  VisitTensors(checkpoint,
               [&](const std::string& path, const at::Tensor& tensor) {
                 bytes[path] = Bytes(tensor);
               });
  return bytes;
}

}  // namespace

TrainerParts StatefulParts(const Stateful& setting) {
  TrainerParts parts = LinearParts(8, 4, 8);
  parts.model = Net();
  parts.train_loader = ShuffledPoints(setting);
  parts.make_optimizer = [](std::vector<ParameterGroup> groups, Problems&) {
    return std::make_unique<Momentum>(std::move(groups));
  };
  RunningPlugin plugin;
  plugin.id = "stateful";
  plugin.plugin = PluginPointer(new StatefulPlugin(setting));
  parts.hooks = std::make_unique<HookRunner>(std::vector<RunningPlugin>(),
                                             HookRunner::Order());
  parts.hooks->AddCallback(std::move(plugin));
  return parts;
}

void ExpectSameState(const Checkpoint& a, const Checkpoint& b) {
  const auto left = TensorBytes(a), right = TensorBytes(b);
  EXPECT_EQ(left.size(), right.size());
  for (const auto& [path, bytes] : left) {
    const auto other = right.find(path);
    ASSERT_NE(other, right.end()) << path;
    EXPECT_TRUE(bytes == other->second) << path << " differs";
  }
  EXPECT_TRUE(a.rng == b.rng) << "random generators differ";
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.sampler.samples_done, b.sampler.samples_done);
  EXPECT_EQ(a.loop.windows, b.loop.windows);
  EXPECT_EQ(a.loop.samples, b.loop.samples);
  EXPECT_EQ(a.loop.micro, b.loop.micro);
  EXPECT_EQ(a.loop.skip_reason, b.loop.skip_reason);
  EXPECT_EQ(a.loop.recent_losses, b.loop.recent_losses);
  EXPECT_EQ(a.loop.train_loss.sums, b.loop.train_loss.sums);
  EXPECT_EQ(a.loop.window_loss.sums, b.loop.window_loss.sums);
  EXPECT_EQ(a.metrics, b.metrics);
  EXPECT_EQ(a.acc, b.acc);
  EXPECT_EQ(a.schedule, b.schedule);
  ASSERT_EQ(a.best.has_value(), b.best.has_value());
  if (!a.best) return;
  EXPECT_EQ(a.best->value, b.best->value);
  EXPECT_EQ(a.best->epoch, b.best->epoch);
}

}  // namespace slipway::loop
