// Each layer beside LibTorch's own of that name: from the same seed they start
// with the same names and numbers, and give the same outputs and gradients.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ATen/Context.h"
#include "ATen/ops/arange.h"
#include "gtest/gtest.h"
#include "torch/nn/modules/activation.h"
#include "torch/nn/modules/batchnorm.h"
#include "torch/nn/modules/conv.h"
#include "torch/nn/modules/dropout.h"
#include "torch/nn/modules/embedding.h"
#include "torch/nn/modules/linear.h"
#include "torch/nn/modules/normalization.h"
#include "torch/nn/modules/pooling.h"
#include "trainer/nn/layers/activation.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/dropout.h"
#include "trainer/nn/layers/embedding.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/pool.h"
#include "trainer/nn/layers/shape.h"

namespace slipway::nn {
namespace {

struct Reference {
  std::shared_ptr<torch::nn::Module> module;
  std::function<at::Tensor(const at::Tensor&)> forward;
};

struct Case {
  std::string name;
  std::function<std::unique_ptr<Module>()> ours;
  std::function<Reference()> theirs;
  std::vector<int64_t> input;
};

template <typename Holder>
Reference Refer(Holder holder) {
  return {holder.ptr(),
          [holder](const at::Tensor& x) mutable { return holder(x); }};
}

// Numbers of both signs that do not repeat.
at::Tensor Input(at::IntArrayRef shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return at::arange(count, at::kFloat).mul_(0.37).sin_().mul_(4).reshape(shape);
}

std::vector<NamedTensor> StateOf(const torch::nn::Module& module) {
  std::vector<NamedTensor> state;
  for (const auto& item : module.named_parameters()) {
    state.emplace_back(item.key(), item.value());
  }
  for (const auto& item : module.named_buffers()) {
    state.emplace_back(item.key(), item.value());
  }
  return state;
}

void ExpectEqual(const std::vector<NamedTensor>& ours,
                 const std::vector<NamedTensor>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].first, theirs[i].first);
    EXPECT_TRUE(ours[i].second.equal(theirs[i].second)) << ours[i].first;
  }
}

class LayerTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    at::manual_seed(5);
    ours_ = GetParam().ours();
    at::manual_seed(5);
    theirs_ = GetParam().theirs();
  }

  void ExpectEqualOutputs(const at::Tensor& x) {
    at::manual_seed(9);
    const at::Tensor ours = ours_->Run(x);
    at::manual_seed(9);
    EXPECT_TRUE(ours.equal(theirs_.forward(x)));
  }

  std::unique_ptr<Module> ours_;
  Reference theirs_;
};

TEST_P(LayerTest, StartsFromTheSameNamesAndNumbers) {
  ExpectEqual(ours_->StateDict(), StateOf(*theirs_.module));
}

TEST_P(LayerTest, ComputesTheSameWhileTraining) {
  ExpectEqualOutputs(Input(GetParam().input));
  ExpectEqualOutputs(Input(GetParam().input).mul(2));
  ExpectEqual(ours_->StateDict(), StateOf(*theirs_.module));
}

TEST_P(LayerTest, ComputesTheSameInEvaluation) {
  ExpectEqualOutputs(Input(GetParam().input));
  ours_->Train(false);
  theirs_.module->eval();
  ExpectEqualOutputs(Input(GetParam().input));
  ExpectEqual(ours_->StateDict(), StateOf(*theirs_.module));
}

TEST_P(LayerTest, HasTheSameGradients) {
  const at::Tensor x = Input(GetParam().input).set_requires_grad(true);
  const at::Tensor same_x = x.detach().clone().set_requires_grad(true);
  at::manual_seed(9);
  const at::Tensor ours = ours_->Run(x);
  at::manual_seed(9);
  const at::Tensor theirs = theirs_.forward(same_x);
  ours.backward(Input(ours.sizes()));
  theirs.backward(Input(theirs.sizes()));
  EXPECT_TRUE(x.grad().equal(same_x.grad()));
  const auto parameters = theirs_.module->named_parameters();
  for (const auto& [name, parameter] : ours_->NamedParameters()) {
    EXPECT_TRUE(parameter.grad().equal(parameters[name].grad())) << name;
  }
}

TEST_P(LayerTest, CarriesLibTorchsName) {
  const std::string name = theirs_.module->name();
  EXPECT_EQ("torch::nn::" + ours_->kind() + "Impl", name);
}

const std::vector<int64_t> kImage = {2, 4, 6, 7};

std::vector<Case> Weighted() {
  namespace tnn = torch::nn;
  return {
      {"conv", [] { return Conv2d({.in = 4, .out = 8, .kernel = 3}); },
       [] { return Refer(tnn::Conv2d(tnn::Conv2dOptions(4, 8, 3))); }, kImage},
      {"conv_with_every_option",
       [] {
         return Conv2d({.in = 4,
                        .out = 8,
                        .kernel = {3, 2},
                        .stride = {2, 1},
                        .padding = {1, 2},
                        .dilation = {1, 2},
                        .groups = 2,
                        .bias = false});
       },
       [] {
         return Refer(tnn::Conv2d(tnn::Conv2dOptions(4, 8, {3, 2})
                                      .stride({2, 1})
                                      .padding({1, 2})
                                      .dilation({1, 2})
                                      .groups(2)
                                      .bias(false)));
       },
       kImage},
      {"conv_transpose",
       [] {
         return ConvTranspose2d({.in = 4,
                                 .out = 6,
                                 .kernel = 3,
                                 .stride = 2,
                                 .padding = 1,
                                 .output_padding = 1,
                                 .groups = 2});
       },
       [] {
         return Refer(tnn::ConvTranspose2d(tnn::ConvTranspose2dOptions(4, 6, 3)
                                               .stride(2)
                                               .padding(1)
                                               .output_padding(1)
                                               .groups(2)));
       },
       kImage},
      {"linear", [] { return Linear({.in = 7, .out = 3}); },
       [] { return Refer(tnn::Linear(7, 3)); }, kImage},
      {"linear_without_bias",
       [] { return Linear({.in = 7, .out = 3, .bias = false}); },
       [] { return Refer(tnn::Linear(tnn::LinearOptions(7, 3).bias(false))); },
       {5, 7}},
  };
}

std::vector<Case> Normalising() {
  namespace tnn = torch::nn;
  return {
      {"batch_norm", [] { return BatchNorm2d(4); },
       [] { return Refer(tnn::BatchNorm2d(4)); }, kImage},
      {"batch_norm_of_plain_average",
       [] { return BatchNorm2d({.features = 4, .eps = 0.1, .momentum = {}}); },
       [] {
         return Refer(tnn::BatchNorm2d(
             tnn::BatchNormOptions(4).eps(0.1).momentum(std::nullopt)));
       },
       kImage},
      {"batch_norm_without_state",
       [] {
         return BatchNorm2d(
             {.features = 4, .affine = false, .track_running_stats = false});
       },
       [] {
         return Refer(tnn::BatchNorm2d(
             tnn::BatchNormOptions(4).affine(false).track_running_stats(
                 false)));
       },
       kImage},
      {"batch_norm_of_vectors",
       [] { return BatchNorm1d({.features = 4, .momentum = 0.3}); },
       [] {
         return Refer(tnn::BatchNorm1d(tnn::BatchNormOptions(4).momentum(0.3)));
       },
       {5, 4}},
      {"layer_norm",
       [] {
         return LayerNorm({.shape = {6, 7}, .eps = 1e-6});
       },
       [] {
         return Refer(tnn::LayerNorm(tnn::LayerNormOptions({6, 7}).eps(1e-6)));
       },
       kImage},
      {"group_norm", [] { return GroupNorm({.groups = 2, .channels = 4}); },
       [] { return Refer(tnn::GroupNorm(2, 4)); }, kImage},
  };
}

std::vector<Case> Activations() {
  namespace tnn = torch::nn;
  return {
      {"relu", ReLU, [] { return Refer(tnn::ReLU()); }, kImage},
      {"relu6", ReLU6, [] { return Refer(tnn::ReLU6()); }, kImage},
      {"leaky_relu", [] { return LeakyReLU(0.2); },
       [] {
         return Refer(
             tnn::LeakyReLU(tnn::LeakyReLUOptions().negative_slope(0.2)));
       },
       kImage},
      {"sigmoid", Sigmoid, [] { return Refer(tnn::Sigmoid()); }, kImage},
      {"tanh", Tanh, [] { return Refer(tnn::Tanh()); }, kImage},
      {"silu", SiLU, [] { return Refer(tnn::SiLU()); }, kImage},
      {"gelu", [] { return GELU(); }, [] { return Refer(tnn::GELU()); },
       kImage},
      {"gelu_by_tanh", [] { return GELU(GeluFormula::kTanh); },
       [] { return Refer(tnn::GELU(tnn::GELUOptions().approximate("tanh"))); },
       kImage},
      {"softmax", [] { return Softmax(1); },
       [] { return Refer(tnn::Softmax(1)); }, kImage},
  };
}

std::vector<Case> Stateless() {
  namespace tnn = torch::nn;
  return {
      {"max_pool",
       [] { return MaxPool2d({.kernel = 3, .stride = 2, .padding = 1}); },
       [] {
         return Refer(
             tnn::MaxPool2d(tnn::MaxPool2dOptions(3).stride(2).padding(1)));
       },
       kImage},
      {"max_pool_with_ceil",
       [] {
         return MaxPool2d({.kernel = {2, 3}, .dilation = 2, .ceil_mode = true});
       },
       [] {
         return Refer(tnn::MaxPool2d(
             tnn::MaxPool2dOptions({2, 3}).dilation(2).ceil_mode(true)));
       },
       kImage},
      {"avg_pool",
       [] {
         return AvgPool2d({.kernel = 2,
                           .padding = 1,
                           .ceil_mode = true,
                           .count_include_pad = false});
       },
       [] {
         return Refer(tnn::AvgPool2d(tnn::AvgPool2dOptions(2)
                                         .padding(1)
                                         .ceil_mode(true)
                                         .count_include_pad(false)));
       },
       kImage},
      {"adaptive_avg_pool",
       [] {
         return AdaptiveAvgPool2d({2, 3});
       },
       [] {
         return Refer(tnn::AdaptiveAvgPool2d(std::vector<int64_t>{2, 3}));
       },
       kImage},
      {"dropout", [] { return Dropout(0.3); },
       [] { return Refer(tnn::Dropout(0.3)); }, kImage},
      {"identity", Identity, [] { return Refer(tnn::Identity()); }, kImage},
      {"flatten", [] { return Flatten(); },
       [] { return Refer(tnn::Flatten()); }, kImage},
      {"flatten_of_a_part", [] { return Flatten(0, 2); },
       [] {
         return Refer(
             tnn::Flatten(tnn::FlattenOptions().start_dim(0).end_dim(2)));
       },
       kImage},
  };
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Weighted, LayerTest, ::testing::ValuesIn(Weighted()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Normalising, LayerTest,
                         ::testing::ValuesIn(Normalising()), NameOf);
INSTANTIATE_TEST_SUITE_P(Activations, LayerTest,
                         ::testing::ValuesIn(Activations()), NameOf);
INSTANTIATE_TEST_SUITE_P(Stateless, LayerTest, ::testing::ValuesIn(Stateless()),
                         NameOf);

TEST(Embedding, EqualsLibTorchs) {
  namespace tnn = torch::nn;
  at::manual_seed(5);
  const auto ours = Embedding({.entries = 10, .dimension = 3, .padding = 2});
  at::manual_seed(5);
  tnn::Embedding theirs(tnn::EmbeddingOptions(10, 3).padding_idx(2));
  ExpectEqual(ours->StateDict(), StateOf(*theirs));
  const at::Tensor indices = at::arange(10, at::kLong).reshape({2, 5});
  const at::Tensor out = ours->Run(indices);
  const at::Tensor expected = theirs(indices);
  EXPECT_TRUE(out.equal(expected));
  out.backward(Input(out.sizes()));
  expected.backward(Input(out.sizes()));
  EXPECT_TRUE(
      ours->NamedParameters()[0].second.grad().equal(theirs->weight.grad()));
}

}  // namespace
}  // namespace slipway::nn
