#include "trainer/loop/parameter_groups.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/nn/module.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::loop {
namespace {

using recipe::Node;

// backbone.0 (convolution), backbone.1 (batch norm), neck, head (linear).
std::unique_ptr<nn::Module> Net() {
  nn::NamedModuleList parts;
  parts.emplace_back(
      "backbone", nn::Sequential(nn::Conv2d({.in = 3, .out = 4, .kernel = 3}),
                                 nn::BatchNorm2d(4)));
  parts.emplace_back("neck", nn::LayerNorm({.shape = {4}}));
  parts.emplace_back("head", nn::Linear({.in = 4, .out = 2}));
  return nn::NamedSequential(std::move(parts));
}

Node At(Node value, int line) {
  value.set_mark({"recipe.yaml", line, 15});
  return value;
}

Node Recipe(Node initial_lr) {
  Node hyperparams = Node::Map();
  hyperparams.Set("initial_lr", std::move(initial_lr));
  Node recipe = Node::Map({"recipe.yaml", 1, 1});
  recipe.Set("training_hyperparams", std::move(hyperparams));
  return recipe;
}

// Rates by prefix, from line 3 on.
Node Rates(std::vector<std::pair<std::string, double>> rates) {
  Node map = Node::Map({"recipe.yaml", 2, 15});
  int line = 3;
  for (const auto& [prefix, rate] : rates) {
    map.Set(prefix, At(Node::Float(rate), line), {"recipe.yaml", line, 5});
    ++line;
  }
  return map;
}

std::string Describe(const std::vector<ParameterGroup>& groups) {
  std::string text;
  for (const ParameterGroup& group : groups) {
    std::vector<std::string> names;
    for (const auto& [name, parameter] : group.parameters)
      names.push_back(name);
    absl::StrAppend(&text, group.name, " lr=", group.initial_lr,
                    " decay=", group.weight_decay, ": ",
                    absl::StrJoin(names, " "), "\n");
  }
  return text;
}

std::string Groups(nn::Module& model, const Node& recipe,
                   bool zero_weight_decay = false) {
  Problems problems;
  const auto groups =
      BuildParameterGroups(model, recipe, zero_weight_decay, problems);
  return Describe(groups) + FormatProblems(problems);
}

TEST(BuildParameterGroups, PutsEverythingUnderOneNumber) {
  EXPECT_EQ(Groups(*Net(), Recipe(Node::Float(0.1))),
            "default lr=0.1 decay=-1: backbone.0.weight backbone.0.bias "
            "backbone.1.weight backbone.1.bias neck.weight neck.bias "
            "head.weight head.bias\n");
}

TEST(BuildParameterGroups, KeepsTheOrderOfTheFile) {
  const Node rates =
      Rates({{"neck", 0.3}, {"default", 0.1}, {"backbone", 0.2}});
  EXPECT_EQ(Groups(*Net(), Recipe(rates)),
            "neck lr=0.3 decay=-1: neck.weight neck.bias\n"
            "default lr=0.1 decay=-1: head.weight head.bias\n"
            "backbone lr=0.2 decay=-1: backbone.0.weight backbone.0.bias "
            "backbone.1.weight backbone.1.bias\n");
}

TEST(BuildParameterGroups, LetsTheLongestPrefixWin) {
  const Node rates =
      Rates({{"backbone", 0.2}, {"backbone.1", 0.3}, {"default", 0.1}});
  EXPECT_EQ(Groups(*Net(), Recipe(rates)),
            "backbone lr=0.2 decay=-1: backbone.0.weight backbone.0.bias\n"
            "backbone.1 lr=0.3 decay=-1: backbone.1.weight backbone.1.bias\n"
            "default lr=0.1 decay=-1: neck.weight neck.bias head.weight "
            "head.bias\n");
}

TEST(BuildParameterGroups, FreezesWhatHasNoRate) {
  const auto model = Net();
  EXPECT_EQ(Groups(*model, Recipe(Rates({{"backbone", 0}, {"default", 0.1}}))),
            "default lr=0.1 decay=-1: neck.weight neck.bias head.weight "
            "head.bias\n");
  for (const auto& [name, parameter] : model->NamedParameters()) {
    EXPECT_EQ(parameter.requires_grad(), name.rfind("backbone", 0) != 0)
        << name;
  }
}

TEST(BuildParameterGroups, LeavesOutWhatWasFrozenBefore) {
  const auto model = Net();
  for (const auto& [name, parameter] : model->NamedParameters()) {
    if (name != "head.bias") parameter.set_requires_grad(false);
  }
  EXPECT_EQ(Groups(*model, Recipe(Node::Int(1))),
            "default lr=1 decay=-1: head.bias\n");
}

TEST(BuildParameterGroups, SplitsOffBiasAndNormalisation) {
  const Node rates = Rates({{"backbone", 0.2}, {"default", 0.1}});
  EXPECT_EQ(Groups(*Net(), Recipe(rates), true),
            "backbone lr=0.2 decay=0: backbone.0.bias backbone.1.weight "
            "backbone.1.bias\n"
            "backbone lr=0.2 decay=-1: backbone.0.weight\n"
            "default lr=0.1 decay=0: neck.weight neck.bias head.bias\n"
            "default lr=0.1 decay=-1: head.weight\n");
}

// A module of which only the tensors can be seen.
class Opaque : public nn::TensorModule {
 public:
  explicit Opaque(std::unique_ptr<nn::Module> inside)
      : inside_(std::move(inside)) {}
  std::string kind() const override { return "Opaque"; }
  bool opaque() const override { return true; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return inside_->Run(x);
  }
  std::vector<nn::NamedTensor> OwnParameters() const override {
    return inside_->NamedParameters();
  }

 private:
  std::unique_ptr<nn::Module> inside_;
};

TEST(BuildParameterGroups, GuessesNormalisationInsideAnOpaqueModule) {
  Opaque model(Net());
  EXPECT_EQ(Groups(model, Recipe(Node::Float(0.1)), true),
            "default lr=0.1 decay=0: backbone.0.bias backbone.1.weight "
            "backbone.1.bias neck.weight neck.bias head.bias\n"
            "default lr=0.1 decay=-1: backbone.0.weight head.weight\n");
}

class Tied : public nn::TensorModule {
 public:
  Tied() {
    const auto inside = nn::Linear({.in = 2, .out = 2, .bias = false});
    const at::Tensor weight = inside->NamedParameters()[0].second;
    AddParameter("first", weight);
    AddParameter("second", weight);
  }
  std::string kind() const override { return "Tied"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override { return x; }
};

TEST(BuildParameterGroups, CountsATensorOfTwoNamesOnce) {
  Tied model;
  EXPECT_EQ(Groups(model, Recipe(Node::Float(0.1))),
            "default lr=0.1 decay=-1: first\n");
}

struct WrongCase {
  std::string name;
  Node initial_lr;
  std::string message;
};

class WrongRates : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongRates, AreToldAndFreezeNothing) {
  const auto model = Net();
  Problems problems;
  BuildParameterGroups(*model, Recipe(GetParam().initial_lr), false, problems);
  EXPECT_EQ(FormatProblems(problems), GetParam().message);
  for (const auto& [name, parameter] : model->NamedParameters()) {
    EXPECT_TRUE(parameter.requires_grad()) << name;
  }
}

constexpr char kRateHint[] =
    "  hint:   set a number of at least 0 for it in "
    "training_hyperparams.initial_lr; 0 freezes\n";

INSTANTIATE_TEST_SUITE_P(
    Messages, WrongRates,
    testing::Values(
        WrongCase{"missing", At(Node(), 2),
                  "error: no learning rate is set\n"
                  "  where:  recipe.yaml:2:15\n"
                  "  hint:   set training_hyperparams.initial_lr\n"},
        WrongCase{"text", At(Node::String("fast"), 2),
                  absl::StrCat("error: the learning rate of \"default\" is "
                               "\"fast\"\n"
                               "  where:  recipe.yaml:2:15\n",
                               kRateHint)},
        WrongCase{"negative_and_no_default",
                  Rates({{"head", -1}, {"backbone", 0}}),
                  absl::StrCat("error: the learning rate of \"head\" is -1.0\n"
                               "  where:  recipe.yaml:3:15\n",
                               kRateHint,
                               "error: the map initial_lr has no \"default\"\n"
                               "  where:  recipe.yaml:2:15\n"
                               "  hint:   add the learning rate of all other "
                               "parameters: \"default: 0.1\"\n")},
        WrongCase{"typo", Rates({{"bakcbone", 0}, {"default", 0.1}}),
                  "error: no parameter's name begins with \"bakcbone\"\n"
                  "  where:  recipe.yaml:3:5\n"
                  "  hint:   did you mean \"backbone\"?\n"},
        WrongCase{"all_frozen", At(Node::Float(0), 2),
                  "error: every parameter of the model is frozen\n"
                  "  where:  recipe.yaml:2:15\n"
                  "  hint:   set a learning rate above 0 in "
                  "training_hyperparams.initial_lr\n"}),
    [](const auto& info) { return info.param.name; });

TEST(BuildParameterGroups, SaysWhereARateIsMissingAltogether) {
  Problems problems;
  BuildParameterGroups(*Net(), Node::Map({"recipe.yaml", 1, 1}), false,
                       problems);
  EXPECT_EQ(FormatProblems(problems),
            "error: no learning rate is set\n"
            "  where:  recipe.yaml:1:1\n"
            "  hint:   set training_hyperparams.initial_lr\n");
}

// The same with a head that it names.
class NetWithHead : public nn::TensorModule {
 public:
  NetWithHead()
      : body_(Add("body", nn::Linear({.in = 4, .out = 4}))),
        head_(Add("head", nn::Linear({.in = 4, .out = 2}))) {
    set_head("head");
  }
  std::string kind() const override { return "NetWithHead"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return head_(body_(x));
  }

 private:
  nn::Child body_, head_;
};

Node Finetuning(Node initial_lr) {
  Node recipe = Recipe(std::move(initial_lr));
  recipe.Find("training_hyperparams")->Set("finetune", At(Node::Bool(true), 9));
  return recipe;
}

TEST(Finetune, TrainsTheHeadAlone) {
  NetWithHead net;
  Problems problems;
  const std::vector<ParameterGroup> groups =
      BuildParameterGroups(net, Finetuning(Node::Float(0.1)), false, problems);
  EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].name, "head");
  EXPECT_EQ(groups[0].initial_lr, 0.1);
  EXPECT_EQ(groups[0].parameters.size(), 2u);
  for (const auto& [name, parameter] : net.NamedParameters()) {
    EXPECT_EQ(parameter.requires_grad(), name.starts_with("head.")) << name;
  }
}

TEST(Finetune, NeedsANamedHeadAndOneRate) {
  const auto told = [](nn::Module& net, Node initial_lr) {
    Problems problems;
    BuildParameterGroups(net, Finetuning(std::move(initial_lr)), false,
                         problems);
    return FormatProblems(problems);
  };
  EXPECT_EQ(told(*Net(), Node::Float(0.1)),
            "error: finetune: the model Sequential names no head\n"
            "  where:  recipe.yaml:9:15\n"
            "  hint:   set initial_lr to a map instead: {PREFIX: 0.1, default: "
            "0}\n");
  NetWithHead net;
  EXPECT_EQ(told(net, Rates({{"head", 1}, {"default", 0}})),
            "error: finetune and a map of learning rates contradict each "
            "other\n"
            "  where:  recipe.yaml:2:15\n"
            "  hint:   set initial_lr to a number, or finetune to False\n");
}

}  // namespace
}  // namespace slipway::loop
