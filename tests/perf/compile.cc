// What compiled graphs gain: a training pass (forward and backward) of a net as
// its packages, against the same net run eagerly.
//
//   bazel run -c opt //tests/perf:compile -- --rounds=15
//
// `plain` and `layout` are the two packages, `chosen` is what the plugin would
// keep: the fastest of both and eager, as it times them itself. Compiling takes
// minutes, and once: packages are in the user's cache afterwards.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/gelu.h"
#include "ATen/ops/hardswish.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/sigmoid.h"
#include "ATen/ops/tanh.h"
#include "absl/strings/str_cat.h"
#include "plugins/compile/capture.h"
#include "plugins/compile/compilation.h"
#include "plugins/compile/package.h"
#include "plugins/compile/trial.h"
#include "plugins/vision_classification/models/resnet.h"
#include "tests/perf/harness.h"
#include "torch/csrc/autograd/autograd.h"
#include "trainer/nn/layers/attention.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/module.h"

namespace slipway::perf {
namespace {

using Tensors = std::vector<at::Tensor>;
using Forward = compile::Trial::Forward;

// --- nets --------------------------------------------------------------------

std::unique_ptr<nn::Module> ResNet18() {
  using vision_classification::ResNetBlock;
  return vision_classification::ResNet(
      {.block = ResNetBlock::kBasic, .blocks = {2, 2, 2, 2}, .classes = 100});
}

// Twelve blocks of width 192 over patches of 16 pixels: ViT-tiny.
class TinyViT : public nn::TensorModule {
 public:
  static constexpr int64_t kWidth = 192;

  TinyViT()
      : patches_(Add(
            "patches",
            nn::Conv2d({.in = 3, .out = kWidth, .kernel = 16, .stride = 16}))),
        head_(Add("head", nn::Linear({.in = kWidth, .out = 100}))) {
    for (int i = 0; i < 12; ++i) {
      const auto add = [&](const char* name, auto module) {
        return Add(absl::StrCat("block", i, name), std::move(module));
      };
      blocks_.push_back(
          {add("norm1", nn::LayerNorm({.shape = {kWidth}})),
           add("attention",
               nn::SelfAttention({.dimension = kWidth, .heads = 3})),
           add("norm2", nn::LayerNorm({.shape = {kWidth}})),
           add("wide", nn::Linear({.in = kWidth, .out = 4 * kWidth})),
           add("narrow", nn::Linear({.in = 4 * kWidth, .out = kWidth}))});
    }
  }
  std::string kind() const override { return "TinyViT"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& images) override {
    at::Tensor x = patches_(images).flatten(2).transpose(1, 2);
    for (const Block& block : blocks_) {
      x = x.add(block.attention(block.norm1(x)));
      x = x.add(block.narrow(at::gelu(block.wide(block.norm2(x)))));
    }
    return head_(x.mean(1));
  }

 private:
  struct Block {
    nn::Child norm1, attention, norm2, wide, narrow;
  };
  nn::Child patches_, head_;
  std::vector<Block> blocks_;
};

// Six blocks in which little but pointwise operations happens.
class Pointwise : public nn::TensorModule {
 public:
  static constexpr int64_t kWidth = 32;

  Pointwise()
      : stem_(Add(
            "stem",
            nn::Conv2d({.in = 3, .out = kWidth, .kernel = 4, .stride = 4}))),
        head_(Add("head", nn::Linear({.in = kWidth, .out = 100}))) {
    for (int i = 0; i < 6; ++i) {
      convolutions_.push_back(
          Add(absl::StrCat("conv", i), nn::Conv2d({.in = kWidth,
                                                   .out = kWidth,
                                                   .kernel = 3,
                                                   .padding = 1,
                                                   .groups = kWidth})));
      norms_.push_back(Add(absl::StrCat("norm", i), nn::BatchNorm2d(kWidth)));
    }
  }
  std::string kind() const override { return "Pointwise"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& images) override {
    at::Tensor x = stem_(images);
    for (size_t i = 0; i < norms_.size(); ++i) {
      at::Tensor y = norms_[i](convolutions_[i](x));
      y = y.mul(at::sigmoid(y));
      y = at::gelu(y).mul(at::tanh(y.mul(0.5).add(0.1)));
      x = x.add(at::hardswish(y).mul(at::sigmoid(x.mul(0.7))));
    }
    return head_(x.mean({2, 3}));
  }

 private:
  nn::Child stem_, head_;
  std::vector<nn::Child> convolutions_, norms_;
};

// --- what is compared --------------------------------------------------------

class Net {
 public:
  Net(std::string name, std::unique_ptr<nn::Module> model, at::Tensor images)
      : name_(std::move(name)),
        model_(std::move(model)),
        inputs_(*model_, Value(std::move(images))) {
    options_.program = "plugins/compile/compiler/programs/run_compiler.py";
  }

  Forward Eager() {
    return [this](const Tensors& tensors) {
      return Tensors{model_->Run(tensors.back())};
    };
  }

  // Verified; null, with a line on stderr, where there is none.
  Forward Compiled(const std::string& candidate) {
    const auto capture = compile::CaptureForward(
        [this](const Value& batch) { return model_->Run(batch); }, inputs_,
        Value(inputs_.batch()[0]));
    if (!capture.ok()) return Without(candidate, capture.status());
    compile::Compilation compilation(*capture, {.options = options_,
                                                .capture = {},
                                                .candidate = candidate,
                                                .waits = true});
    compilation.Wait();
    const absl::StatusOr<std::string>& folder = compilation.result();
    if (!folder.ok()) return Without(candidate, folder.status());
    auto package = compile::Package::Load(*folder);
    if (!package.ok()) return Without(candidate, package.status());
    packages_.push_back(*std::move(package));
    const Forward code = [package =
                              packages_.back().get()](const Tensors& tensors) {
      return package->Run(tensors);
    };
    const absl::Status status = trial().Verify(code);
    return status.ok() ? code : Without(candidate, status);
  }

  // The fastest, as the plugin finds it.
  Forward Chosen(const std::vector<Forward>& forwards) {
    const std::vector<double> seconds = trial().Time(forwards);
    return forwards[std::min_element(seconds.begin(), seconds.end()) -
                    seconds.begin()];
  }

  Measure Pass(const Forward& forward) {
    return [this, forward] {
      const auto start = std::chrono::steady_clock::now();
      const at::Tensor loss = forward(inputs_.tensors())[0].square().mean();
      torch::autograd::grad({loss}, inputs_.parameters());
      return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                           start)
          .count();
    };
  }

  std::string Called(const std::string& side) const {
    return absl::StrCat(name_, "/", side);
  }

 private:
  Forward Without(const std::string& candidate, const absl::Status& status) {
    std::cerr << Called(candidate) << ": " << status << "\n";
    return nullptr;
  }
  compile::Trial trial() { return compile::Trial(Eager(), inputs_, {}); }

  std::string name_;
  std::unique_ptr<nn::Module> model_;
  compile::Inputs inputs_;
  compile::Options options_;
  std::vector<std::unique_ptr<compile::Package>> packages_;
};

void CompareAll(Benchmark& benchmark, Net& net) {
  const Forward eager = net.Eager();
  std::vector<Forward> forwards = {eager};
  for (const char* candidate : {"plain", "layout"}) {
    const Forward code = net.Compiled(candidate);
    if (code == nullptr) continue;
    forwards.push_back(code);
    benchmark.Compare({net.Called(candidate), net.Called("eager"),
                       net.Pass(code), net.Pass(eager), 0});
  }
  benchmark.Compare({net.Called("chosen"), net.Called("eager"),
                     net.Pass(net.Chosen(forwards)), net.Pass(eager), 1});
}

}  // namespace
}  // namespace slipway::perf

int main(int argc, char** argv) {
  using namespace slipway::perf;  // NOLINT: the program's own
  Benchmark benchmark("compile", "seconds");
  if (!benchmark.ParseArguments(argc, argv)) return 2;
  Net resnet("resnet18", ResNet18(), at::randn({8, 3, 64, 64}));
  Net vit("vit_tiny", std::make_unique<TinyViT>(), at::randn({8, 3, 64, 64}));
  Net pointwise("pointwise", std::make_unique<Pointwise>(),
                at::randn({16, 3, 192, 192}));
  for (Net* net : {&resnet, &vit, &pointwise}) CompareAll(benchmark, *net);
  return benchmark.Finish(std::cout);
}
