#include "plugins/amp/amp.h"

#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/ops/full.h"
#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "trainer/plugin/context.h"
#include "trainer/plugin/training_state.h"
#include "trainer/recipe/node.h"

namespace slipway::amp {
namespace {

using recipe::Node;

plan::Environment Cpu(bool bf16) {
  plan::Environment environment;
  environment.cpu_bf16 = bf16;
  return environment;
}

// What happens in a run on a CPU.
struct Outcome {
  bool has_scaler = false;
  at::ScalarType forward = at::kFloat;  // type of a product in forward
  at::ScalarType after = at::kFloat;    // and after its scopes have ended
};

at::ScalarType ProductType() {
  const at::Tensor a = at::full({4, 4}, 1.0);
  return a.mm(a).scalar_type();
}

Outcome Train(Amp& amp) {
  TrainingState state;
  ConfigureContext configure(state);
  EXPECT_TRUE(amp.Configure(configure).ok());
  ForwardContext forward(state);
  EXPECT_TRUE(amp.BeforeForward(forward).ok());
  Outcome outcome = {.has_scaler = state.scaler != nullptr,
                     .forward = ProductType()};
  state.scopes.clear();
  outcome.after = ProductType();
  return outcome;
}

TEST(Amp, ComputesInBf16WhereTheCpuCan) {
  Amp amp({}, Cpu(true));
  const Outcome outcome = Train(amp);
  EXPECT_EQ(outcome.forward, at::kBFloat16);
  EXPECT_EQ(outcome.after, at::kFloat);
  EXPECT_FALSE(outcome.has_scaler);
}

TEST(Amp, DoesNothingWhereItCannot) {
  Amp amp({}, Cpu(false));
  const Outcome outcome = Train(amp);
  EXPECT_EQ(outcome.forward, at::kFloat);
  EXPECT_FALSE(outcome.has_scaler);
}

TEST(Amp, RunsThereIfForced) {
  Amp amp({.force = true}, Cpu(false));
  EXPECT_EQ(Train(amp).forward, at::kBFloat16);
}

TEST(Amp, ScalesTheLossInFp16) {
  Amp amp({.dtype = Dtype::kFp16}, Cpu(true));
  const Outcome outcome = Train(amp);
  EXPECT_EQ(outcome.forward, at::kHalf);
  EXPECT_EQ(outcome.after, at::kFloat);
  EXPECT_TRUE(outcome.has_scaler);
}

Node Config(std::vector<std::pair<std::string, Node>> entries) {
  Node config = Node::Map();
  for (auto& [key, value] : entries) config.Set(key, std::move(value));
  return config;
}

TEST(AmpConfig, IsRead) {
  for (const auto& [name, type] :
       std::vector<std::pair<std::string, at::ScalarType>>{
           {"auto", at::kBFloat16},
           {"bf16", at::kBFloat16},
           {"fp16", at::kHalf}}) {
    auto plugin = Amp::Create(
        Config({{"dtype", Node::String(name)}, {"force", Node::Bool(true)}}));
    ASSERT_TRUE(plugin.ok()) << plugin.status();
    EXPECT_EQ(Train(static_cast<Amp&>(**plugin)).forward, type) << name;
  }
}

TEST(AmpConfig, TellsAllThatIsWrong) {
  const auto plugin = Amp::Create(Config({{"dtype", Node::String("float16")},
                                          {"force", Node::Int(1)},
                                          {"forced", Node::Bool(true)}}));
  EXPECT_EQ(plugin.status(),
            absl::InvalidArgumentError(
                "error: \"dtype\" of plugin amp is \"float16\"\n"
                "  detail: expected one of auto, bf16, fp16, found text "
                "\"float16\"\n"
                "error: \"force\" of plugin amp is 1\n"
                "  detail: expected true or false, found integer 1\n"
                "error: unknown parameter \"forced\" of plugin amp\n"
                "  hint:   did you mean \"force\"?\n"));
}

}  // namespace
}  // namespace slipway::amp
