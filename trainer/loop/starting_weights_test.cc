#include "trainer/loop/starting_weights.h"

#include "ATen/ops/full.h"
#include "ATen/ops/zeros.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/recipe/yaml.h"

namespace slipway::loop {
namespace {

using nn::NamedTensor;
using testing::HasSubstr;
using testing::Not;

// backbone.0 from 2 to 3, linear from 3 to `classes`; all zero.
class Net : public nn::TensorModule {
 public:
  explicit Net(int64_t classes = 2, bool with_head = true)
      : backbone_(
            Add("backbone", nn::Sequential(nn::Linear({.in = 2, .out = 3})))),
        linear_(Add("linear", nn::Linear({.in = 3, .out = classes}))) {
    if (with_head) set_head("linear");
    for (auto& [name, tensor] : StateDict()) tensor.detach().zero_();
  }
  std::string kind() const override { return "Net"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return linear_(backbone_(x));
  }

 private:
  nn::Child backbone_, linear_;
};

std::vector<NamedTensor> Named(
    std::vector<std::pair<std::string, std::vector<int64_t>>> shapes,
    double value = 1) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, shape] : shapes) {
    tensors.emplace_back(name, at::full(shape, value));
  }
  return tensors;
}

std::vector<NamedTensor> Fitting(double value = 1) {
  return Named({{"backbone.0.weight", {3, 2}},
                {"backbone.0.bias", {3}},
                {"linear.weight", {2, 3}},
                {"linear.bias", {2}}},
               value);
}

std::string Written(std::vector<NamedTensor> net,
                    std::vector<NamedTensor> ema = {}) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string path =
      absl::StrCat(testing::TempDir(), "/", test->name(), ".pth");
  Checkpoint checkpoint;
  checkpoint.net = std::move(net);
  if (!ema.empty()) checkpoint.extra_nets = {{"ema_net", std::move(ema)}};
  EXPECT_TRUE(WriteCheckpoint(checkpoint, path).ok());
  return path;
}

// What is told; `keys` are further lines of checkpoint_params.
std::string Load(nn::Module& net, const std::string& path,
                 const std::string& keys = "") {
  Problems problems;
  const std::optional<recipe::Node> recipe =
      recipe::ParseYaml(absl::StrCat("arch_params: {num_classes: 2}\n"
                                     "checkpoint_params:\n  checkpoint_path: ",
                                     path, "\n", keys),
                        "x.yaml", problems);
  EXPECT_TRUE(recipe.has_value()) << FormatProblems(problems);
  LoadStartingWeights(*recipe, net, problems);
  return FormatProblems(problems);
}

// The first element of each tensor, in order.
std::vector<double> Firsts(const nn::Module& net) {
  std::vector<double> firsts;
  for (const auto& [name, tensor] : net.StateDict()) {
    firsts.push_back(tensor.flatten()[0].item().toDouble());
  }
  return firsts;
}

using Values = std::vector<double>;

TEST(StartingWeights, AreThoseOfTheFile) {
  Net net;
  EXPECT_EQ(Load(net, Written(Fitting())), "");
  EXPECT_EQ(Firsts(net), (Values{1, 1, 1, 1}));
}

TEST(StartingWeights, AreTheAveragedOnesWhereTheFileHasThem) {
  const std::string path = Written(Fitting(1), Fitting(2));
  Net net;
  EXPECT_EQ(Load(net, path), "");
  EXPECT_EQ(Firsts(net), (Values{2, 2, 2, 2}));
  EXPECT_EQ(Load(net, path, "  load_ema_as_net: False\n"), "");
  EXPECT_EQ(Firsts(net), (Values{1, 1, 1, 1}));
}

// O28 of tests/bug_reports.md.
TEST(StartingWeights, ComeWithoutTheirWrappersPrefix) {
  std::vector<NamedTensor> wrapped = Fitting();
  for (auto& [name, tensor] : wrapped) name = "module._orig_mod." + name;
  Net net;
  EXPECT_THAT(Load(net, Written(wrapped), "  strict_load: True\n"),
              HasSubstr("\"module._orig_mod.\" is taken off"));
  EXPECT_EQ(Firsts(net), (Values{1, 1, 1, 1}));
}

struct Case {
  const char* strict;
  // Tensors that end up as the file's; empty: an error.
  Values expected;
  const char* told;
};

class StrictLoadTest : public testing::Test {
 protected:
  void Expect(const std::vector<NamedTensor>& file,
              const std::vector<Case>& cases) {
    const std::string path = Written(file);
    for (const Case& c : cases) {
      SCOPED_TRACE(c.strict);
      Net net;
      const std::string told =
          Load(net, path, absl::StrCat("  strict_load: ", c.strict, "\n"));
      EXPECT_THAT(told, HasSubstr(c.told));
      const bool refused = c.expected.empty();
      EXPECT_EQ(told.find("error") != told.npos, refused) << told;
      EXPECT_EQ(Firsts(net), refused ? Values(4) : c.expected);
    }
  }
};

TEST_F(StrictLoadTest, WithANameThatIsAbsentAndOneThatIsNew) {
  Expect(Named({{"backbone.0.weight", {3, 2}},
                {"backbone.0.bias", {3}},
                {"linear.weight", {2, 3}},
                {"linear.bais", {2}}}),
         {{"True", {}, "missing (1): linear.bias (found linear.bais)"},
          {"False", {1, 1, 1, 0}, "3 of 4 tensors are taken"},
          {"key_matching", {1, 1, 1, 0}, "3 of 4 tensors are taken"},
          {"no_key_matching", {1, 1, 1, 1}, "taken in order"}});
}

TEST_F(StrictLoadTest, WithAShapeThatDiffers) {
  Expect(Named({{"backbone.0.weight", {3, 2}},
                {"backbone.0.bias", {3}},
                {"linear.weight", {7, 3}},
                {"linear.bias", {7}}}),
         {{"True", {}, "linear.weight is [7, 3], expected [2, 3]"},
          {"False", {}, "linear.weight is [7, 3], expected [2, 3]"},
          {"key_matching", {1, 1, 0, 0}, "2 of 4 tensors are taken"},
          {"no_key_matching",
           {},
           "in order, tensor 2: linear.weight is [2, 3], found linear.weight "
           "[7, 3]"}});
}

TEST_F(StrictLoadTest, WithNothingThatFits) {
  Expect(Named({{"a", {5}}, {"b", {5}}}),
         {{"True", {}, "missing (4)"},
          {"False", {}, "missing (4)"},
          {"key_matching", {}, "missing (4)"},
          {"no_key_matching", {}, "in order, tensor 0"}});
}

TEST_F(StrictLoadTest, WithOtherNamesAndMoreAtTheEnd) {
  Expect(Named({{"0.w", {3, 2}},
                {"0.b", {3}},
                {"1.w", {2, 3}},
                {"1.b", {2}},
                {"2.w", {9}}}),
         {{"no_key_matching", {1, 1, 1, 1}, "; 1 are left"}});
}

TEST_F(StrictLoadTest, RefusesAnotherWord) {
  Expect(Fitting(), {{"key_match", {}, "did you mean \"key_matching\"?"}});
}

TEST(LoadBackbone, FillsThatChildAlone) {
  const std::string keys = "  load_backbone: True\n  strict_load: True\n";
  Net whole, alone;
  EXPECT_EQ(Load(whole, Written(Fitting()), keys), "");
  EXPECT_EQ(Firsts(whole), (Values{1, 1, 0, 0}));
  const auto of_a_backbone = Named({{"0.weight", {3, 2}}, {"0.bias", {3}}});
  EXPECT_EQ(Load(alone, Written(of_a_backbone), keys), "");
  EXPECT_EQ(Firsts(alone), (Values{1, 1, 0, 0}));
}

TEST(LoadBackbone, NeedsAModelThatHasOne) {
  const auto model = nn::Sequential(nn::Linear({.in = 2, .out = 3}));
  EXPECT_THAT(Load(*model, Written(Fitting()), "  load_backbone: True\n"),
              HasSubstr("the model has no child \"backbone\", but 0"));
}

TEST(CheckpointNumClasses, LeavesTheHeadAtItsStartWhereTheyDiffer) {
  const auto of_seven = Named({{"backbone.0.weight", {3, 2}},
                               {"backbone.0.bias", {3}},
                               {"linear.weight", {7, 3}},
                               {"linear.bias", {7}}});
  const std::string keys = "  checkpoint_num_classes: 7\n  strict_load: True\n";
  Net net;
  const std::string told = Load(net, Written(of_seven), keys);
  EXPECT_THAT(told, HasSubstr("note: the model's head \"linear\" starts"));
  EXPECT_THAT(told, Not(HasSubstr("error")));
  EXPECT_EQ(Firsts(net), (Values{1, 1, 0, 0}));
  Net without(2, /*with_head=*/false);
  EXPECT_THAT(Load(without, Written(of_seven), keys),
              HasSubstr("the model Net names no head"));
}

TEST(StartingWeights, NeedAFileThatIsThere) {
  Net net;
  EXPECT_EQ(Load(net, "absent.pth"),
            "error: there is no checkpoint \"absent.pth\"\n"
            "  where:  x.yaml:3:20\n"
            "  hint:   name a file here or in checkpoints\n");
  EXPECT_THAT(Load(net, "https://host/x.pth"), HasSubstr("download it"));
  EXPECT_THAT(Load(net, "a.pth", "  external_checkpoint_path: b.pth\n"),
              HasSubstr("two checkpoints are named"));
}

TEST(StartingWeights, AreNotAskedForWithoutAPath) {
  Net net;
  Problems problems;
  const auto recipe = recipe::ParseYaml(
      "checkpoint_params: {load_backbone: True, strict_load: True}\n", "x.yaml",
      problems);
  LoadStartingWeights(*recipe, net, problems);
  EXPECT_TRUE(problems.empty());
}

}  // namespace
}  // namespace slipway::loop
