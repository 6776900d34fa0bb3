// Knowledge distillation: Hinton et al., "Distilling the Knowledge in a Neural
// Network", 2015. The model `digits_teacher` is trained first, alone; with its
// checkpoint in the configuration it then teaches whatever the recipe trains.
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/TensorOperators.h"
#include "ATen/core/ivalue.h"
#include "ATen/ops/cross_entropy_loss.h"
#include "ATen/ops/kl_div.h"
#include "ATen/ops/log_softmax.h"
#include "ATen/ops/relu.h"
#include "c10/core/GradMode.h"
#include "torch/csrc/jit/serialization/pickle.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/plugin/plugin.h"
#include "trainer/recipe/params.h"

namespace {

namespace nn = slipway::nn;

class Teacher : public nn::TensorModule {
 public:
  Teacher()
      : conv1_(
            Add("conv1",
                nn::Conv2d({.in = 1, .out = 32, .kernel = 3, .padding = 1}))),
        norm1_(Add("norm1", nn::BatchNorm2d(32))),
        conv2_(Add("conv2", nn::Conv2d({.in = 32,
                                        .out = 64,
                                        .kernel = 3,
                                        .stride = 2,
                                        .padding = 1}))),
        norm2_(Add("norm2", nn::BatchNorm2d(64))),
        linear_(Add("linear", nn::Linear({.in = 64 * 16, .out = 10}))) {}
  std::string kind() const override { return "DigitsTeacher"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    const at::Tensor y = at::relu(norm2_(conv2_(at::relu(norm1_(conv1_(x))))));
    return linear_(y.flatten(1));
  }

 private:
  nn::Child conv1_, norm1_, conv2_, norm2_, linear_;
};

// The weights in a checkpoint of the trainer, which is torch.save's format.
absl::StatusOr<std::vector<nn::NamedTensor>> ReadWeights(
    const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError("cannot read \"" + path + "\"");
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  std::vector<nn::NamedTensor> weights;
  const c10::IValue checkpoint = torch::jit::pickle_load(bytes);
  const c10::IValue net = checkpoint.toGenericDict().at("net");
  for (const auto& entry : net.toGenericDict()) {
    weights.emplace_back(entry.key().toStringRef(), entry.value().toTensor());
  }
  return weights;
}

class Distillation : public slipway::Plugin {
 public:
  static absl::StatusOr<std::unique_ptr<slipway::Plugin>> Create(
      const slipway::recipe::Node& config) {
    slipway::Problems problems;
    slipway::recipe::Params params(config, "distillation", problems);
    auto plugin = std::make_unique<Distillation>();
    plugin->checkpoint_ = params.Text("checkpoint", "");
    plugin->temperature_ =
        params.Double("temperature", {.fallback = 2, .min = 0.1});
    plugin->share_ =
        params.Double("share", {.fallback = 0.7, .min = 0, .max = 1});
    params.Finish();
    if (slipway::HasErrors(problems)) {
      return absl::InvalidArgumentError(slipway::FormatProblems(problems));
    }
    return plugin;
  }

  void Register(slipway::Components& components) override {
    components.models.Add("digits_teacher", [](const slipway::BuildArgs&) {
      return std::make_unique<Teacher>();
    });
  }

  absl::Status CreateModel(slipway::ModelContext& context) override {
    if (checkpoint_.empty()) return absl::OkStatus();
    absl::StatusOr<std::vector<nn::NamedTensor>> weights =
        ReadWeights(checkpoint_);
    if (!weights.ok()) return weights.status();
    auto teacher = std::make_unique<Teacher>();
    const absl::Status loaded = nn::LoadStateDict(*teacher, *weights, true);
    if (!loaded.ok()) return loaded;
    teacher->Train(false);
    teacher_ = teacher.get();
    context.AddModel("teacher", std::move(teacher));
    return absl::OkStatus();
  }

  absl::Status BatchFetched(slipway::BatchContext& context) override {
    if (teacher_ == nullptr) return absl::OkStatus();
    const c10::NoGradGuard no_grad;
    answers_ = teacher_->Run(context.current_batch().input).tensor();
    return absl::OkStatus();
  }

  absl::Status ComputeLoss(slipway::OutputContext& context) override {
    if (teacher_ == nullptr) return absl::OkStatus();
    const at::Tensor& logits = context.prediction().tensor();
    const at::Tensor soft =
        at::kl_div(at::log_softmax(logits / temperature_, 1),
                   at::log_softmax(answers_ / temperature_, 1),
                   /*reduction=*/2, /*log_target=*/true) *
        (temperature_ * temperature_ / static_cast<double>(logits.size(0)));
    const at::Tensor hard =
        at::cross_entropy_loss(logits, context.current_batch().target.tensor());
    context.SetLoss({.total = soft * share_ + hard * (1 - share_),
                     .items = {{"Distillation", soft.detach()},
                               {"CrossEntropy", hard.detach()}}});
    return absl::OkStatus();
  }

 private:
  std::string checkpoint_;
  double temperature_ = 1;
  double share_ = 0;
  nn::Module* teacher_ = nullptr;  // the core's
  at::Tensor answers_;
};

}  // namespace

SLIPWAY_PLUGIN("com.example.distillation", "1.0.0", Distillation);
