#include "trainer/loop/fixtures.h"

#include "ATen/core/grad_mode.h"
#include "ATen/ops/argmax.h"
#include "ATen/ops/from_blob.h"
#include "ATen/ops/log_softmax.h"
#include "ATen/ops/matmul.h"
#include "ATen/ops/scalar_tensor.h"
#include "ATen/ops/tensor.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"
#include "trainer/plan/names.h"

namespace slipway::loop {
namespace {

using recipe::Node;
using Fault = std::function<absl::Status(int64_t, data::Sample&)>;

class PointSet : public data::Dataset {
 public:
  PointSet(int64_t size, Fault fault) : size_(size), fault_(std::move(fault)) {}
  int64_t size() const override { return size_; }

  absl::StatusOr<data::Sample> Get(int64_t index) const override {
    data::Rng rng(7, 0, index);
    const double x = rng.Uniform(-1, 1), y = rng.Uniform(-1, 1);
    data::Sample sample;
    sample.image = at::tensor({x, y}, at::kFloat);
    sample.target = at::scalar_tensor(x > y ? 1 : 0, at::kLong);
    if (fault_) {
      const absl::Status status = fault_(index, sample);
      if (!status.ok()) return status;
    }
    return sample;
  }

 private:
  int64_t size_;
  Fault fault_;
};

class Linear : public nn::TensorModule {
 public:
  Linear()
      : weight_(AddParameter("weight", at::zeros({2, 2}))),
        bias_(AddParameter("bias", at::zeros({2}))) {}
  std::string kind() const override { return "Linear"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return at::matmul(x, weight_).add(bias_);
  }

 private:
  at::Tensor weight_, bias_;
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
    return {{"Accuracy",
             meter_[0].item().toDouble() / meter_[1].item().toDouble()}};
  }
  std::vector<at::Tensor> Meters() override { return {meter_}; }

 private:
  // How many were right, of how many.
  at::Tensor meter_ = at::zeros({2}, at::kLong);
};

class Sgd : public Optimizer, public StepUpdate {
 public:
  Sgd(std::vector<ParameterGroup> groups,
      std::vector<std::vector<double>>* rates)
      : Optimizer(std::move(groups)), rates_(rates) {}

  absl::Status Step(const std::vector<double>& rates) override {
    if (rates_ != nullptr) rates_->push_back(rates);
    const at::NoGradGuard no_gradients;
    for (size_t i = 0; i < groups_.size(); ++i) {
      for (auto& [name, parameter] : groups_[i].parameters) {
        if (parameter.grad().defined()) {
          parameter.sub_(parameter.grad(), rates[i]);
        }
      }
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<nn::NamedTensor>> UpdatedTensors() override {
    return std::vector<nn::NamedTensor>();
  }
  absl::StatusOr<std::vector<double>> StepNumbers(
      const StepContext& /*context*/,
      const std::vector<double>& learning_rates) override {
    return learning_rates;
  }
  void Update(const std::vector<at::Tensor>& numbers) override {
    std::vector<double> rates;
    for (const at::Tensor& rate : numbers) {
      rates.push_back(rate.item().toDouble());
    }
    Step(rates).IgnoreError();
  }
  void TookStep() override {}

  std::vector<std::pair<std::string, OptimizerState>> State() const override {
    return {};
  }
  absl::Status LoadState(
      const std::vector<std::pair<std::string, OptimizerState>>&) override {
    return absl::OkStatus();
  }

 private:
  std::vector<std::vector<double>>* rates_;
};

}  // namespace

std::unique_ptr<data::Dataset> Points(int64_t size, Fault fault) {
  return std::make_unique<PointSet>(size, std::move(fault));
}

std::unique_ptr<data::Loader> PointsLoader(int64_t size, int64_t batch_size,
                                           Fault fault) {
  data::LoaderParts parts;
  parts.dataset = Points(size, std::move(fault));
  data::LoaderOptions options;
  options.batch_size = batch_size;
  return std::make_unique<data::Loader>(std::move(parts), options);
}

std::unique_ptr<nn::Module> LinearNet() { return std::make_unique<Linear>(); }
std::unique_ptr<Loss> PlainLoss() { return std::make_unique<CrossEntropy>(); }

std::unique_ptr<Metric> PlainAccuracy() {
  auto metric = std::make_unique<Accuracy>();
  metric->Reset();
  return metric;
}

std::unique_ptr<Optimizer> PlainSgd(std::vector<ParameterGroup> groups,
                                    std::vector<std::vector<double>>* rates) {
  return std::make_unique<Sgd>(std::move(groups), rates);
}

TrainerParts LinearParts(int64_t samples, int64_t batch_size,
                         int64_t valid_samples) {
  TrainerParts parts;
  parts.model = LinearNet();
  parts.train_loader = PointsLoader(samples, batch_size);
  if (valid_samples > 0) {
    parts.valid_loader = PointsLoader(valid_samples, batch_size);
  }
  parts.loss = PlainLoss();
  parts.loss_name = "PlainLoss";
  parts.train_metrics.push_back(PlainAccuracy());
  parts.valid_metrics.push_back(PlainAccuracy());
  parts.make_optimizer = [](std::vector<ParameterGroup> groups, Problems&) {
    return PlainSgd(std::move(groups));
  };
  return parts;
}

TrainerOptions Options(int64_t epochs,
                       std::vector<std::pair<std::string, Node>> extra) {
  Node section = Node::Map();
  section.Set("max_epochs", Node::Int(epochs));
  section.Set("initial_lr", Node::Float(0.5));
  for (auto& [key, value] : extra) section.Set(key, std::move(value));
  TrainerOptions options;
  options.recipe = Node::Map();
  options.recipe.Set("training_hyperparams", std::move(section));
  Problems problems;
  options.hyperparams = ReadHyperparams(options.recipe, problems);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  return options;
}

std::vector<std::string> Heard::EventNames() const {
  std::vector<std::string> names;
  for (const EventReport& event : events) {
    if (event.name != "checkpoint") names.push_back(event.name);
  }
  return names;
}

absl::Status Diary::OnBegin(const BeginReport& begin) {
  heard_.begins.push_back(begin);
  return absl::OkStatus();
}
absl::Status Diary::OnStep(const StepReport& step) {
  heard_.steps.push_back(step);
  return absl::OkStatus();
}
absl::Status Diary::OnEpoch(const EpochReport& epoch) {
  heard_.epochs.push_back(epoch);
  return absl::OkStatus();
}
absl::Status Diary::OnEvent(const EventReport& event) {
  heard_.events.push_back(event);
  return absl::OkStatus();
}
absl::Status Diary::OnProblem(const Problem& problem) {
  heard_.problems.push_back(problem);
  return absl::OkStatus();
}
absl::Status Diary::OnEnd(const EndReport& end) {
  heard_.ends.push_back(end);
  return absl::OkStatus();
}

namespace {

template <typename ContextType>
absl::Status Call(const Probe& probe, const char* hook,
                  const std::function<absl::Status(ContextType&)>& function,
                  ContextType& context) {
  if (probe.calls != nullptr) probe.calls->push_back(hook);
  return function ? function(context) : absl::OkStatus();
}

template <typename ContextType>
absl::Status Call(const Probe& probe, const char* hook, ContextType& context) {
  return Call<ContextType>(probe, hook, nullptr, context);
}

}  // namespace

absl::Status Probe::Configure(ConfigureContext& context) {
  return Call(*this, "Configure", configure, context);
}
absl::Status Probe::CreateModel(ModelContext& context) {
  return Call(*this, "CreateModel", context);
}
absl::Status Probe::TransformModel(ModelContext& context) {
  return Call(*this, "TransformModel", context);
}
absl::Status Probe::BuildOptimizer(OptimizerContext& context) {
  return Call(*this, "BuildOptimizer", build_optimizer, context);
}
absl::Status Probe::WrapForward(WrapContext& context) {
  return Call(*this, "WrapForward", wrap_forward, context);
}
absl::Status Probe::FitBegin(FitContext& context) {
  return Call(*this, "FitBegin", fit_begin, context);
}
absl::Status Probe::EpochBegin(FitContext& context) {
  return Call(*this, "EpochBegin", epoch_begin, context);
}
absl::Status Probe::BatchFetched(BatchContext& context) {
  return Call(*this, "BatchFetched", context);
}
absl::Status Probe::StepBegin(BatchContext& context) {
  return Call(*this, "StepBegin", step_begin, context);
}
absl::Status Probe::MicroBegin(BatchContext& context) {
  return Call(*this, "MicroBegin", context);
}
absl::Status Probe::BeforeForward(ForwardContext& context) {
  return Call(*this, "BeforeForward", before_forward, context);
}
absl::Status Probe::AfterForward(OutputContext& context) {
  return Call(*this, "AfterForward", context);
}
absl::Status Probe::ComputeLoss(OutputContext& context) {
  return Call(*this, "ComputeLoss", compute_loss, context);
}
absl::Status Probe::AfterLoss(OutputContext& context) {
  return Call(*this, "AfterLoss", after_loss, context);
}
absl::Status Probe::BeforeBackward(GradientContext& context) {
  return Call(*this, "BeforeBackward", before_backward, context);
}
absl::Status Probe::AfterBackward(GradientContext& context) {
  return Call(*this, "AfterBackward", context);
}
absl::Status Probe::MicroEnd(GradientContext& context) {
  return Call(*this, "MicroEnd", context);
}
absl::Status Probe::BeforeOptimizer(GradientContext& context) {
  return Call(*this, "BeforeOptimizer", before_optimizer, context);
}
absl::Status Probe::AfterOptimizer(StepContext& context) {
  return Call(*this, "AfterOptimizer", after_optimizer, context);
}
absl::Status Probe::StepEnd(StepContext& context) {
  return Call(*this, "StepEnd", context);
}
absl::Status Probe::EpochEnd(FitContext& context) {
  return Call(*this, "EpochEnd", epoch_end, context);
}
absl::Status Probe::EvalBegin(EvalContext& context) {
  return Call(*this, "EvalBegin", eval_begin, context);
}
absl::Status Probe::EvalBatchBegin(EvalContext& context) {
  return Call(*this, "EvalBatchBegin", context);
}
absl::Status Probe::EvalForward(EvalContext& context) {
  return Call(*this, "EvalForward", eval_forward, context);
}
absl::Status Probe::EvalBatchEnd(EvalContext& context) {
  return Call(*this, "EvalBatchEnd", context);
}
absl::Status Probe::EvalEnd(EvalContext& context) {
  return Call(*this, "EvalEnd", eval_end, context);
}
absl::Status Probe::BeforeSave(CheckpointContext& context) {
  return Call(*this, "BeforeSave", before_save, context);
}
absl::Status Probe::AfterSave(CheckpointContext& context) {
  return Call(*this, "AfterSave", after_save, context);
}
absl::Status Probe::FitEnd(FitContext& context) {
  return Call(*this, "FitEnd", context);
}
void Probe::OnFailure(const absl::Status&) {
  if (calls != nullptr) calls->push_back("OnFailure");
}
void Probe::Close() {
  if (calls != nullptr) calls->push_back("Close");
}

std::unique_ptr<HookRunner> ProbeRunner(std::unique_ptr<Probe> probe) {
  RunningPlugin plugin;
  plugin.id = "probe";
  plugin.plugin = PluginPointer(probe.release());
  HookRunner::Order order;
  for (const std::string& hook : plan::HookNames()) order[hook] = {"probe"};
  std::vector<RunningPlugin> plugins;
  plugins.push_back(std::move(plugin));
  return std::make_unique<HookRunner>(std::move(plugins), order);
}

}  // namespace slipway::loop
