#include "plugins/vision_classification/models/repvgg.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ATen/ops/constant_pad_nd.h"
#include "ATen/ops/eye.h"
#include "ATen/ops/relu.h"
#include "ATen/ops/sigmoid.h"
#include "c10/core/GradMode.h"
#include "c10/util/Exception.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/pool.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/nn/layers/shape.h"
// After LibTorch's headers, which define CHECK too.
#include "glog/logging.h"

namespace slipway::vision_classification {
namespace {

// Weighs each channel by what all of them are on average.
class SEBlock : public nn::TensorModule {
 public:
  SEBlock(int64_t channels, int64_t squeezed)
      : pool_(Add("pool", nn::AdaptiveAvgPool2d(1))),
        down_(Add("down", nn::Conv2d({.in = channels, .out = squeezed}))),
        up_(Add("up", nn::Conv2d({.in = squeezed, .out = channels}))) {}
  std::string kind() const override { return "SEBlock"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return x.mul(at::sigmoid(up_(at::relu(down_(pool_(x))))));
  }

 private:
  nn::Child pool_, down_, up_;
};

struct BlockShape {
  int64_t in, out, stride;
  bool squeeze;
};

std::unique_ptr<nn::Module> Squeeze(const BlockShape& s) {
  if (!s.squeeze) return nn::Identity();
  return std::make_unique<SEBlock>(s.out, std::max<int64_t>(1, s.out / 16));
}

std::unique_ptr<nn::Module> Branch(const BlockShape& s, int64_t kernel) {
  nn::NamedModuleList layers;
  layers.emplace_back("conv", nn::Conv2d({.in = s.in,
                                          .out = s.out,
                                          .kernel = kernel,
                                          .stride = s.stride,
                                          .padding = kernel / 2,
                                          .bias = false}));
  layers.emplace_back("bn", nn::BatchNorm2d(s.out));
  return nn::NamedSequential(std::move(layers));
}

// A 3x3 convolution that does what some branches do in evaluation mode.
struct Kernel {
  at::Tensor weight, bias;
};

at::Tensor TensorOf(const nn::Module& module, std::string_view name) {
  for (const auto& [known, tensor] : module.StateDict()) {
    if (known == name) return tensor;
  }
  LOG(FATAL) << "a " << module.kind() << " has no " << name;
}

// `weight` followed by the normalisation.
Kernel Normalised(const at::Tensor& weight, nn::Module& norm) {
  const auto* options = nn::OptionsOf<nn::BatchNormOptions>(norm);
  CHECK(options != nullptr) << "a " << norm.kind() << " cannot be fused";
  const at::Tensor scale =
      TensorOf(norm, "weight")
          .div(TensorOf(norm, "running_var").add(options->eps).sqrt());
  return {
      weight.mul(scale.reshape({-1, 1, 1, 1})),
      TensorOf(norm, "bias").sub(TensorOf(norm, "running_mean").mul(scale))};
}

Kernel BranchKernel(nn::Module& branch) {
  at::Tensor weight = TensorOf(*branch.Find("conv"), "weight");
  if (weight.size(2) == 1) {
    weight = at::constant_pad_nd(weight, {1, 1, 1, 1}, 0);
  }
  return Normalised(weight, *branch.Find("bn"));
}

Kernel IdentityKernel(nn::Module& norm) {
  const at::Tensor scale = TensorOf(norm, "weight");
  const at::Tensor same = at::eye(scale.size(0), scale.options());
  const at::Tensor middle = same.unsqueeze(2).unsqueeze(3);
  return Normalised(at::constant_pad_nd(middle, {1, 1, 1, 1}, 0), norm);
}

class FusedBlock : public nn::TensorModule {
 public:
  // Takes its squeeze from the block that it replaces.
  FusedBlock(const BlockShape& s, const Kernel& kernel,
             std::unique_ptr<nn::Module> squeeze)
      : se_(Add("se", std::move(squeeze))),
        rbr_reparam_(Add("rbr_reparam", nn::Conv2d({.in = s.in,
                                                    .out = s.out,
                                                    .kernel = 3,
                                                    .stride = s.stride,
                                                    .padding = 1}))) {
    rbr_reparam_->To(kernel.weight.device());
    rbr_reparam_->To(kernel.weight.scalar_type());
    TensorOf(*rbr_reparam_, "weight").copy_(kernel.weight);
    TensorOf(*rbr_reparam_, "bias").copy_(kernel.bias);
  }
  std::string kind() const override { return "RepVGGBlock"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    TORCH_CHECK(!training(),
                "a RepVGG whose branches are fused can only be evaluated; "
                "train it with build_residual_branches: True");
    return at::relu(se_(rbr_reparam_(x)));
  }

 private:
  nn::Child se_, rbr_reparam_;
};

class RepVggBlock : public nn::TensorModule {
 public:
  explicit RepVggBlock(const BlockShape& s)
      : shape_(s), se_(Add("se", Squeeze(s))) {
    if (s.in == s.out && s.stride == 1) {
      no_conv_branch_ = Add("no_conv_branch", nn::BatchNorm2d(s.out));
    }
    branch_3x3_ = Add("branch_3x3", Branch(s, 3));
    branch_1x1_ = Add("branch_1x1", Branch(s, 1));
  }
  std::string kind() const override { return "RepVGGBlock"; }

  // Takes this block's squeeze away: the block itself cannot run afterwards.
  std::unique_ptr<nn::Module> Fuse() {
    const c10::AutoGradMode no_grad(false);
    Kernel sum = BranchKernel(*branch_3x3_);
    const auto add = [&](const Kernel& kernel) {
      sum.weight = sum.weight.add(kernel.weight);
      sum.bias = sum.bias.add(kernel.bias);
    };
    add(BranchKernel(*branch_1x1_));
    if (no_conv_branch_) add(IdentityKernel(*no_conv_branch_));
    auto squeeze = Replace("se", nn::Identity());
    return std::make_unique<FusedBlock>(shape_, sum, *std::move(squeeze));
  }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    at::Tensor sum = branch_3x3_(x).add(branch_1x1_(x));
    if (no_conv_branch_) sum = sum.add(no_conv_branch_(x));
    return at::relu(se_(sum));
  }

 private:
  BlockShape shape_;
  nn::Child se_, no_conv_branch_, branch_3x3_, branch_1x1_;
};

class RepVggModule : public nn::TensorModule {
 public:
  explicit RepVggModule(const RepVggOptions& o) {
    const auto wide = [&](int stage) {
      return static_cast<int64_t>((64 << stage) * o.width[stage]);
    };
    int64_t channels = wide(0);
    stem_ = Add("stem", std::make_unique<RepVggBlock>(
                            BlockShape{o.in_channels, channels, 2, o.squeeze}));
    for (int stage = 0; stage < 4; ++stage) {
      nn::ModuleList blocks;
      for (int64_t i = 0; i < o.blocks[stage]; ++i) {
        blocks.push_back(std::make_unique<RepVggBlock>(
            BlockShape{channels, wide(stage), i == 0 ? 2 : 1, o.squeeze}));
        channels = wide(stage);
      }
      stages_[stage] = Add("stage" + std::to_string(stage + 1),
                           nn::Sequential(std::move(blocks)));
    }
    if (!o.head) return;
    avgpool_ = Add("avgpool", nn::AdaptiveAvgPool2d(1));
    linear_ = Add("linear", nn::Linear({.in = channels, .out = o.classes}));
    set_head("linear");
  }
  std::string kind() const override { return "RepVGG"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    at::Tensor out = stem_(x);
    for (const nn::Child& stage : stages_) out = stage(out);
    return linear_ ? linear_(avgpool_(out).flatten(1)) : out;
  }

 private:
  nn::Child stem_, avgpool_, linear_;
  std::array<nn::Child, 4> stages_;
};

// --- from recipes ------------------------------------------------------------

struct Size {
  const char* name;
  std::array<int64_t, 4> blocks;
  std::array<double, 4> width;
};
constexpr Size kSizes[] = {
    {"repvgg_a0", {2, 4, 14, 1}, {0.75, 0.75, 0.75, 2.5}},
    {"repvgg_a1", {2, 4, 14, 1}, {1, 1, 1, 2.5}},
    {"repvgg_a2", {2, 4, 14, 1}, {1.5, 1.5, 1.5, 2.75}},
    {"repvgg_b0", {4, 6, 16, 1}, {1, 1, 1, 2.5}},
    {"repvgg_b1", {4, 6, 16, 1}, {2, 2, 2, 4}},
    {"repvgg_b2", {4, 6, 16, 1}, {2.5, 2.5, 2.5, 5}},
    {"repvgg_b3", {4, 6, 16, 1}, {3, 3, 3, 5}},
    {"repvgg_d2se", {8, 14, 24, 1}, {2.5, 2.5, 2.5, 5}},
};

// The stages as the recipe has them, `size`'s unless it has them (null: it
// must).
void ReadStages(recipe::Params& params, const Size* size, RepVggOptions& o) {
  using Blocks = std::vector<int64_t>;
  using Widths = std::vector<double>;
  std::optional<Blocks> blocks;
  std::optional<Widths> widths;
  if (size != nullptr) {
    blocks.emplace(size->blocks.begin(), size->blocks.end());
    widths.emplace(size->width.begin(), size->width.end());
  }
  const Blocks struct_ = params.Ints("struct", 4, blocks);
  const Widths width = params.Doubles("width_multiplier", 4, widths);
  if (struct_.size() != 4 || width.size() != 4) return;
  std::copy(struct_.begin(), struct_.end(), o.blocks.begin());
  std::copy(width.begin(), width.end(), o.width.begin());
  if (size != nullptr) {
    ExpectSame(params, "struct", o.blocks == size->blocks, "repvgg_custom");
    ExpectSame(params, "width_multiplier", o.width == size->width,
               "repvgg_custom");
  }
  for (int i = 0; i < 4; ++i) {
    if (o.blocks[i] < 1 || o.blocks[i] > 1000) {
      params.Fail("struct", "expected 1 to 1000 blocks in each stage");
      break;
    }
  }
  for (double factor : o.width) {
    if (factor >= 1.0 / 64 && factor <= 16) continue;
    params.Fail("width_multiplier", "expected factors from 1/64 to 16");
    break;
  }
}

Builder Read(const Size* size, recipe::Params& params) {
  RepVggOptions o;
  ReadStages(params, size, o);
  const bool branches = params.Bool("build_residual_branches", true);
  o.squeeze = params.Bool("use_se", false);
  o.head = !params.Bool("backbone_mode", false);
  o.classes = ReadClasses(params, o.head);
  o.in_channels = ReadChannels(params);
  return [o, branches] {
    std::unique_ptr<nn::Module> model = RepVgg(o);
    if (!branches) {
      model->Train(false);
      FuseRepVgg(*model);
    }
    return model;
  };
}

}  // namespace

std::unique_ptr<nn::Module> RepVgg(const RepVggOptions& options) {
  return std::make_unique<RepVggModule>(options);
}

void FuseRepVgg(nn::Module& model) {
  CHECK(!model.training()) << "fuse a RepVGG in evaluation mode";
  // First all of them: what is inside a replaced block is gone.
  std::vector<std::pair<std::string, RepVggBlock*>> blocks;
  for (const auto& [path, module] : model.NamedModules()) {
    auto* block = dynamic_cast<RepVggBlock*>(module);
    if (block != nullptr) blocks.emplace_back(path, block);
  }
  for (const auto& [path, block] : blocks) {
    const auto old = model.Replace(path, block->Fuse());
    CHECK(old.ok()) << old.status();
  }
}

std::vector<Architecture> RepVggArchitectures() {
  std::vector<Architecture> architectures;
  for (const Size& size : kSizes) {
    architectures.push_back({size.name, [&size](recipe::Params& params) {
                               return Read(&size, params);
                             }});
  }
  architectures.push_back({"repvgg_custom", [](recipe::Params& params) {
                             return Read(nullptr, params);
                           }});
  return architectures;
}

}  // namespace slipway::vision_classification
