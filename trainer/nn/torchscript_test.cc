#include "trainer/nn/torchscript.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "ATen/Context.h"
#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros.h"
#include "c10/core/GradMode.h"
#include "gtest/gtest.h"
#include "torch/csrc/jit/api/module.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/nn/layers/shape.h"

namespace slipway::nn {
namespace {

at::Tensor Parameter(at::IntArrayRef shape, double value) {
  return at::full(shape, value).set_requires_grad(true);
}

// A module without state, from the rest of "def forward(self, ".
torch::jit::Module Script(const std::string& forward) {
  torch::jit::Module module("Net");
  module.define("def forward(self, " + forward + "\n");
  return module;
}

torch::jit::Module Net() {
  torch::jit::Module inner("Inner");
  inner.register_parameter("weight", Parameter({3, 4}, 0.25),
                           /*is_buffer=*/false);
  inner.define(R"(
    def forward(self, x):
        return x.matmul(self.weight.t())
  )");
  torch::jit::Module net("Net");
  net.register_attribute("training", c10::BoolType::get(), true);
  net.register_parameter("weight", Parameter({3}, 0.5), /*is_buffer=*/false);
  net.register_buffer("calls", at::zeros({1}));
  net.register_module("inner", inner);
  net.define(R"(
    def forward(self, x):
        if self.training:
            self.calls.add_(1.0)
        return self.inner.forward(x) * self.weight
  )");
  return net;
}

std::string TemporaryFile(const std::string& name) {
  return std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
}

std::vector<std::string> Names(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

TEST(TorchScript, ListsItsPartsUnderItsPlace) {
  const auto model = Sequential(WrapTorchScript(Net()));
  EXPECT_EQ(
      Names(model->StateDict()),
      (std::vector<std::string>{"0.weight", "0.inner.weight", "0.calls"}));
  EXPECT_EQ(CountParameters(*model), 3 + 12);
}

TEST(TorchScript, TrainsAsPartOfAModel) {
  at::manual_seed(3);
  const auto model =
      Sequential(WrapTorchScript(Net()), Linear({.in = 3, .out = 1}));
  const at::Tensor x = at::randn({16, 4}), y = x.sum(1, /*keepdim=*/true);
  std::vector<double> losses;
  for (int step = 0; step < 60; ++step) {
    const at::Tensor loss = model->Run(x).sub(y).pow(2).mean();
    losses.push_back(loss.item<double>());
    loss.backward();
    const c10::AutoGradMode no_grad(false);
    for (const auto& [name, parameter] : model->NamedParameters()) {
      parameter.sub_(parameter.grad(), 0.05);
      parameter.mutable_grad() = at::Tensor();
    }
  }
  EXPECT_LT(losses.back(), 0.1 * losses.front());
}

TEST(TorchScript, FollowsTheModeOfTheModel) {
  const auto model = Sequential(WrapTorchScript(Net()));
  const at::Tensor calls = model->NamedBuffers()[0].second;
  model->Run(at::ones({1, 4}));
  model->Train(false);
  model->Run(at::ones({1, 4}));
  EXPECT_EQ(calls.item<double>(), 1);
}

TEST(TorchScript, RefusesSurgeryInItsInside) {
  const auto model = Sequential(WrapTorchScript(Net()));
  EXPECT_EQ(
      std::string(model->Replace("0.inner", Identity()).status().message()),
      "cannot replace \"0.inner\": \"0\" is a TorchScript module, whose "
      "parts are fixed; replace \"0\" as a whole");
  EXPECT_TRUE(model->Replace("0", Identity()).ok());
}

TEST(TorchScript, MovesAndLoads) {
  const auto from = WrapTorchScript(Net());
  const auto to = WrapTorchScript(Net());
  for (const auto& [name, tensor] : from->StateDict()) {
    tensor.detach().fill_(0.125);
  }
  ASSERT_TRUE(LoadStateDict(*to, from->StateDict(), /*strict=*/true).ok());
  to->To(at::kDouble);
  const at::Tensor out = to->Run(at::ones({1, 4}, at::kDouble));
  EXPECT_EQ(out[0][0].item<double>(), 4 * 0.125 * 0.125);
}

TEST(TorchScript, GivesValuesOfEveryKind) {
  const struct {
    std::string forward, shape;
  } cases[] = {
      {"x): return x, (x, None)", "[float[2], [float[2], nothing]]"},
      {"x): return [x, x]", "[float[2], float[2]]"},
      {"x): return {'main': x, 'aux': x}", "{main: float[2], aux: float[2]}"},
  };
  for (const auto& c : cases) {
    const auto module = WrapTorchScript(Script(c.forward));
    EXPECT_EQ(module->Run(Value(at::ones({2}))).ShapeString(), c.shape);
  }
}

TEST(TorchScript, TakesListsAndMapsAsArguments) {
  const auto module = WrapTorchScript(Script("a, b): return a - b"));
  const at::Tensor one = at::ones({1}), three = at::full({1}, 3.0);
  const Value list(Value::List{three, one});
  EXPECT_EQ(module->Run(list).tensor().item<double>(), 2);
  const Value map(Value::Map{{"b", three}, {"a", one}});
  EXPECT_EQ(module->Run(map).tensor().item<double>(), -2);
}

std::string ErrorOf(const std::string& forward, const Value& input) {
  try {
    WrapTorchScript(Script(forward))->Run(input);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "no error";
}

TEST(TorchScript, SaysWhatItCannotTakeOrGive) {
  const Value x(at::ones({1}));
  EXPECT_NE(ErrorOf("x): return x", Value()).find("takes tensors, not nothing"),
            std::string::npos);
  EXPECT_NE(ErrorOf("x): return 3", x)
                .find("a TorchScript module returned Int; expected tensors"),
            std::string::npos);
  EXPECT_NE(ErrorOf("x): return {1: x}", x).find("a key that is no string: 1"),
            std::string::npos);
}

TEST(LoadTorchScript, ReadsWhatWasSaved) {
  const std::string path = TemporaryFile("net.pt");
  Net().save(path);
  auto loaded = LoadTorchScript(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE((*loaded)->NamedParameters()[0].second.requires_grad());
  EXPECT_EQ((*loaded)->Run(at::ones({1, 4}))[0][0].item<double>(),
            4 * 0.25 * 0.5);
}

TEST(LoadTorchScript, TellsMissingFilesFromWrongOnes) {
  const auto missing = LoadTorchScript("/no/such/net.pt");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(missing.status().message()),
            "no TorchScript file \"/no/such/net.pt\"");
  const std::string path = TemporaryFile("text.pt");
  std::ofstream(path) << "not a zip file";
  const auto wrong = LoadTorchScript(path);
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(wrong.status().message());
  EXPECT_TRUE(
      message.starts_with("\"" + path + "\" is no TorchScript module: "))
      << message;
  EXPECT_TRUE(message.ends_with(
      "; write one with Python's torch.jit.trace or torch.jit.script"))
      << message;
}

}  // namespace
}  // namespace slipway::nn
