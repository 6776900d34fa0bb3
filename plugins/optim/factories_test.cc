#include "plugins/optim/factories.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/ops/ones.h"
#include "gtest/gtest.h"
#include "trainer/plugin/components.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::optim {
namespace {

using recipe::Node;

struct Made {
  std::unique_ptr<Optimizer> optimizer;
  at::Tensor parameter;
  Problems problems;
};

Node Number(double value) {
  return Node::Float(value, {"recipe.yaml", 12, 20});
}

Node Map(std::vector<std::pair<std::string, Node>> entries) {
  Node map = Node::Map({"recipe.yaml", 11, 3});
  for (auto& [key, value] : entries) {
    map.Set(key, std::move(value), {"recipe.yaml", 12, 5});
  }
  return map;
}

// The optimizer `name` for one parameter of value 1.
Made Make(const std::string& name, const Node& params) {
  Components components;
  RegisterOptimizers(components);
  Made made;
  made.parameter = at::ones({1}).requires_grad_(true);
  const Node recipe = Node::Map();
  const BuildArgs args{params, recipe, components, made.problems};
  made.optimizer = (*components.optimizers.Find(name))(
      args, {{.name = "default", .parameters = {{"p", made.parameter}}}});
  return made;
}

// What becomes of 1 in a step of rate 0.1 along the gradient 0.5.
double AfterOneStep(const std::string& name, const Node& params) {
  Made made = Make(name, params);
  EXPECT_NE(made.optimizer, nullptr) << FormatProblems(made.problems);
  if (made.optimizer == nullptr) return 0;
  made.parameter.mutable_grad() = at::ones({1}).mul(0.5);
  EXPECT_TRUE(made.optimizer->Step({0.1}).ok());
  return made.parameter.item<double>();
}

TEST(RegisterOptimizers, KnowsThemByName) {
  Components components;
  RegisterOptimizers(components);
  EXPECT_EQ(components.optimizers.names(),
            (std::vector<std::string>{"SGD", "Adam", "AdamW", "RMSprop",
                                      "RMSpropTF", "Lamb"}));
  EXPECT_NE(components.optimizers.Find("rms_prop_tf"), nullptr);
}

TEST(RegisterOptimizers, HasSuperGradientsDefaults) {
  const Node none;
  // Weight decay 1e-4: 1 - 0.1 * (0.5 + 1e-4).
  EXPECT_NEAR(AfterOneStep("SGD", none), 0.94999, 1e-7);
  // Adam's first step has the length of the rate whatever the gradient is;
  // AdamW takes 0.1 * 0.01 of the parameter besides.
  EXPECT_NEAR(AfterOneStep("Adam", none), 0.9, 1e-6);
  EXPECT_NEAR(AfterOneStep("AdamW", none), 0.899, 1e-6);
  // g / (sqrt(0.01) g) = 10, and g / sqrt(0.9 + 0.1 g^2).
  EXPECT_NEAR(AfterOneStep("RMSprop", none), 0, 1e-5);
  EXPECT_NEAR(AfterOneStep("RMSpropTF", none), 1 - 0.05001 / 0.961773, 1e-6);
  // The step has the parameter's own length.
  EXPECT_NEAR(AfterOneStep("Lamb", none), 0.9, 1e-6);
}

TEST(RegisterOptimizers, ReadsParameters) {
  EXPECT_NEAR(AfterOneStep("SGD", Map({{"momentum", Number(0)},
                                       {"weight_decay", Number(0)}})),
              0.95, 1e-7);
  EXPECT_NEAR(AfterOneStep("AdamW", Map({{"weight_decay", Number(0)}})), 0.9,
              1e-6);
  const Node betas = Node::List({Node::Float(0), Node::Float(0)});
  EXPECT_NEAR(AfterOneStep("Adam", Map({{"betas", betas}})), 0.9, 1e-6);
  EXPECT_NEAR(
      AfterOneStep("RMSpropTF", Map({{"weight_decay", Number(0.5)},
                                     {"decoupled_decay", Node::Bool(true)}})),
      0.5 - 0.05 / 0.961769, 1e-6);
}

struct WrongCase {
  std::string name;
  std::string optimizer;
  Node params;
  std::string message;
};

class WrongParameters : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongParameters, AreToldAllAtOnce) {
  const Made made = Make(GetParam().optimizer, GetParam().params);
  EXPECT_EQ(made.optimizer, nullptr);
  EXPECT_EQ(FormatProblems(made.problems), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Messages, WrongParameters,
    testing::Values(
        WrongCase{"range_and_typo", "SGD",
                  Map({{"momentum", Number(-1)}, {"weigth_decay", Number(1)}}),
                  "error: \"momentum\" of optimizer SGD is -1.0\n"
                  "  detail: expected a number of at least 0.0, found number "
                  "-1.0\n"
                  "  where:  recipe.yaml:12:20\n"
                  "error: unknown parameter \"weigth_decay\" of optimizer SGD\n"
                  "  where:  recipe.yaml:12:5\n"
                  "  hint:   did you mean \"weight_decay\"?\n"},
        WrongCase{
            "nesterov", "SGD",
            Map({{"momentum", Number(0)},
                 {"nesterov", Node::Bool(true, {"recipe.yaml", 14, 15})}}),
            "error: nesterov needs momentum and no dampening\n"
            "  where:  recipe.yaml:14:15\n"
            "  hint:   set momentum above 0 and leave dampening out\n"},
        WrongCase{"betas", "Lamb",
                  Map({{"betas", Node::List({Node::Float(0.9), Node::Int(1)},
                                            {"recipe.yaml", 12, 12})}}),
                  "error: \"betas\" must be two numbers from 0 to below 1\n"
                  "  where:  recipe.yaml:12:12\n"
                  "  hint:   the usual ones are [0.9, 0.999]\n"},
        WrongCase{"tensorflow_only", "RMSprop",
                  Map({{"lr_in_momentum", Node::Bool(true)}}),
                  "error: unknown parameter \"lr_in_momentum\" of optimizer "
                  "RMSprop\n"
                  "  where:  recipe.yaml:12:5\n"
                  "  hint:   did you mean \"momentum\"?\n"}),
    [](const auto& info) { return info.param.name; });

TEST(RegisterSchedules, KnowsLongAndShortNames) {
  Components components;
  RegisterSchedules(components);
  for (const char* name :
       {"CosineLRScheduler", "cosine", "PolyLRScheduler", "poly",
        "ExponentialLRScheduler", "exp", "StepLRScheduler", "step"}) {
    EXPECT_NE(components.schedules.Find(name), nullptr) << name;
  }
}

TEST(RegisterSchedules, ReadsTheRecipesHyperparameters) {
  Components components;
  RegisterSchedules(components);
  const Node recipe =
      Map({{"training_hyperparams", Map({{"lr_decay_factor", Number(0.5)}})}});
  const Node none;
  Problems problems;
  const BuildArgs args{none, recipe, components, problems};
  const auto schedule = (*components.schedules.Find("exp"))(args);
  ASSERT_NE(schedule, nullptr) << FormatProblems(problems);
  EXPECT_DOUBLE_EQ(schedule->Rate(1, {.epoch = 1, .max_epochs = 2}), 0.5);
  EXPECT_EQ((*components.schedules.Find("step"))(args), nullptr);
  EXPECT_EQ(problems.size(), 1u);
}

TEST(RegisterSchedules, RefusesParametersOfItsOwn) {
  Components components;
  RegisterSchedules(components);
  const Node params = Map({{"cosine_final_lr_ratio", Number(0.1)}});
  const Node recipe = Node::Map();
  Problems problems;
  const BuildArgs args{params, recipe, components, problems};
  EXPECT_EQ((*components.schedules.Find("cosine"))(args), nullptr);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].message,
            "unknown parameter \"cosine_final_lr_ratio\" of schedule "
            "CosineLRScheduler");
}

}  // namespace
}  // namespace slipway::optim
