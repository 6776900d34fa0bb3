#include "plugins/compile/capture.h"

#include <filesystem>
#include <fstream>

#include "ATen/autocast_mode.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/relu.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "plugins/compile/test_net.h"
#include "torch/csrc/jit/ir/ir.h"

namespace slipway::compile {
namespace {

using testing::HasSubstr;

Value Images() { return Value(at::randn({4, 3, 8, 8})); }

absl::StatusOr<Capture> CaptureOf(nn::Module& net, const Value& batch) {
  return CaptureForward(ForwardOf(net), Inputs(net, batch), batch);
}

bool Mentions(const Capture& capture, const std::string& operation) {
  return capture.graph->toString().find(operation) != std::string::npos;
}

TEST(CaptureForward, RecordsEachOperationAndNoWeights) {
  const std::unique_ptr<nn::Module> net = TestNet(0.5);
  const absl::StatusOr<Capture> capture = CaptureOf(*net, Images());
  ASSERT_TRUE(capture.ok()) << capture.status();
  for (const char* operation : {"conv", "batch_norm", "dropout", "linear"}) {
    EXPECT_TRUE(Mentions(*capture, operation)) << operation;
  }
  EXPECT_EQ(capture->graph->inputs().size(), capture->types.size());
  EXPECT_FALSE(Mentions(*capture, "prim::Constant[value=<Tensor>]"));
  EXPECT_FALSE(capture->reduced_precision);
}

TEST(CaptureForward, LeavesNoTraceInTheModelOrTheGenerator) {
  const std::unique_ptr<nn::Module> net = TestNet(0.5);
  const auto draw = [] { return at::randn({4}); };
  Seed(3);
  const at::Tensor expected = draw();
  const Value images = Images();
  Seed(3);
  ASSERT_TRUE(CaptureOf(*net, images).ok());
  EXPECT_TRUE(draw().equal(expected));
  for (const auto& [name, buffer] : net->NamedBuffers()) {
    if (name == "1.running_var") continue;
    EXPECT_EQ(buffer.abs().max().item().toDouble(), 0) << name;
  }
}

TEST(CaptureForward, HashesEqualGraphsAlikeAndOthersApart) {
  const std::unique_ptr<nn::Module> net = TestNet();
  const std::unique_ptr<nn::Module> same = TestNet();
  const std::string hash = CaptureOf(*net, Images())->hash;
  EXPECT_EQ(CaptureOf(*same, Images())->hash, hash);
  EXPECT_NE(CaptureOf(*net, Value(at::randn({4, 3, 9, 9})))->hash, hash);
  EXPECT_NE(CaptureOf(*TestNet(0.1), Images())->hash, hash);
  same->NamedParameters()[0].second.set_requires_grad(false);
  EXPECT_NE(CaptureOf(*same, Images())->hash, hash);
  net->Train(false);
  EXPECT_NE(CaptureOf(*net, Images())->hash, hash);
}

TEST(CaptureForward, SeesReducedPrecision) {
  const std::unique_ptr<nn::Module> net = TestNet();
  net->To(at::kBFloat16);
  const Value images(at::randn({4, 3, 8, 8}).to(at::kBFloat16));
  const absl::StatusOr<Capture> capture = CaptureOf(*net, images);
  ASSERT_TRUE(capture.ok()) << capture.status();
  EXPECT_TRUE(capture->reduced_precision);
}

// A forward that chooses by a value of its input.
class Branching : public nn::TensorModule {
 public:
  std::string kind() const override { return "Branching"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return x.sum().item<float>() > 0 ? x.mul(2) : at::relu(x);
  }
};

TEST(CaptureForward, RefusesAForwardThatDecidesByValues) {
  Branching net;
  const absl::StatusOr<Capture> capture = CaptureOf(net, Images());
  EXPECT_EQ(capture.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(capture.status().message(),
              HasSubstr("reads 1 tensor value(s) on the host"));
}

TEST(CaptureForward, TurnsWhatForwardThrowsIntoAnError) {
  const std::unique_ptr<nn::Module> net = TestNet();
  EXPECT_FALSE(CaptureOf(*net, Value(at::randn({4, 5, 8, 8}))).ok());
}

// Autocast remembers what it has cast, and a trace casts without gradients.
TEST(CaptureForward, LeavesAutocastsMemoryAlone) {
  const std::unique_ptr<nn::Module> net = TestNet();
  const Value batch = Images();
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::increment_nesting();
  ASSERT_TRUE(CaptureOf(*net, batch).ok());
  const at::Tensor loss = net->Run(batch).tensor().sum();
  at::autocast::decrement_nesting();
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  loss.backward();
  for (const auto& [name, parameter] : net->NamedParameters()) {
    EXPECT_TRUE(parameter.grad().defined()) << name;
  }
}

// --- a whole step ------------------------------------------------------------

// Sum of outputs as the loss; parameters follow their gradients.
StepFunctions PlainStep(nn::Module& net) {
  const auto forward = [&net](const Value& batch) {
    const Value output = net.Run(batch);
    return Value(Value::Map{{"loss", Value(output.tensor().sum())},
                            {"prediction", Value(output.tensor().detach())}});
  };
  const auto update = [&net](const std::vector<at::Tensor>& numbers) {
    for (auto& [name, parameter] : net.NamedParameters()) {
      if (!parameter.grad().defined()) continue;
      parameter.sub_(parameter.grad().mul(numbers[0]));
    }
  };
  return {.forward = forward, .update = update};
}

TEST(CaptureStep, HasForwardAndUpdateAndLeavesNoTrace) {
  const std::unique_ptr<nn::Module> net = TestNet(0.5);
  net->NamedParameters()[0].second.set_requires_grad(false);
  const std::vector<nn::NamedTensor> tensors = net->StateDict();
  std::vector<at::Tensor> before;
  for (const auto& [name, tensor] : tensors) {
    before.push_back(tensor.detach().clone());
  }
  const at::Tensor extra = at::randn({2});
  const Value batch = Images();
  const Inputs inputs(*net, {{"momentum/extra", extra}}, at::randn({1}), batch);
  const absl::StatusOr<Capture> capture =
      CaptureStep(PlainStep(*net), inputs, batch);
  ASSERT_TRUE(capture.ok()) << capture.status();
  // The frozen parameter has no gradient, and is not written.
  const size_t parameters = net->NamedParameters().size();
  EXPECT_EQ(capture->update.differentiated.size(), parameters - 1);
  EXPECT_EQ(capture->update.differentiated[0], 1);
  EXPECT_EQ(capture->update.updated.back(),
            static_cast<int64_t>(inputs.state_size()) - 2);
  EXPECT_EQ(capture->update.graph->inputs().size(),
            inputs.tensors().size() + parameters - 1);
  EXPECT_NE(capture->update.graph->toString().find("sub_"), std::string::npos);
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_TRUE(tensors[i].second.equal(before[i])) << tensors[i].first;
    EXPECT_FALSE(tensors[i].second.grad().defined()) << tensors[i].first;
  }
}

TEST(CaptureStep, IsAnotherGraphWithAnotherGuard) {
  const std::unique_ptr<nn::Module> net = TestNet();
  const Value batch = Images();
  const Inputs inputs(*net, {}, at::randn({1}), batch);
  StepFunctions step = PlainStep(*net);
  const absl::StatusOr<Capture> one = CaptureStep(step, inputs, batch);
  const absl::StatusOr<Capture> same = CaptureStep(step, inputs, batch);
  step.guard = StepGuard::kGradients;
  const absl::StatusOr<Capture> other = CaptureStep(step, inputs, batch);
  ASSERT_TRUE(one.ok() && same.ok() && other.ok());
  EXPECT_EQ(one->hash, same->hash);
  EXPECT_NE(one->hash, other->hash);
}

TEST(WriteCapture, DescribesTheInputs) {
  const std::string folder = testing::TempDir() + "/capture";
  std::filesystem::create_directories(folder);
  const std::unique_ptr<nn::Module> net = TestNet();
  const absl::StatusOr<Capture> capture = CaptureOf(*net, Images());
  ASSERT_TRUE(capture.ok()) << capture.status();
  const absl::Status status =
      WriteCapture(*capture, {.differentiate = false}, folder);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GT(std::filesystem::file_size(folder + "/graph.pt"), 0);
  std::ifstream file(folder + "/graph.json");
  const nlohmann::json json = nlohmann::json::parse(file);
  EXPECT_EQ(json["differentiate"], false);
  EXPECT_EQ(json["dynamic"], true);
  EXPECT_EQ(json["state"], capture->types.size() - 1);
  ASSERT_EQ(json["inputs"].size(), capture->types.size());
  EXPECT_EQ(json["inputs"][0]["name"], "0.weight");
  EXPECT_EQ(json["inputs"][0]["size"], (std::vector<int>{8, 3, 3, 3}));
  EXPECT_EQ(json["inputs"][0]["stride"], (std::vector<int>{27, 9, 3, 1}));
  EXPECT_EQ(json["inputs"][0]["requires_grad"], true);
  EXPECT_EQ(json["inputs"].back()["dtype"], "float32");
}

TEST(WriteCapture, SaysWhereItCannotWrite) {
  const std::unique_ptr<nn::Module> net = TestNet();
  EXPECT_FALSE(
      WriteCapture(*CaptureOf(*net, Images()), {}, "/nowhere/at/all").ok());
}

}  // namespace
}  // namespace slipway::compile
