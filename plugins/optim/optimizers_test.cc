// Every optimizer against its formula, whatever the layout of parameters and
// gradients is, and through saving and loading.
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/full.h"
#include "ATen/ops/zeros.h"
#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plugins/optim/adam.h"
#include "plugins/optim/lamb.h"
#include "plugins/optim/reference_steps.h"
#include "plugins/optim/rmsprop.h"
#include "plugins/optim/sgd.h"
#include "trainer/plugin/training_state.h"

namespace slipway::optim {
namespace {

using testing::AnyOf;
using testing::StartsWith;

// An optimizer under its options, and its formula under the same.
struct OptimizerCase {
  std::string name;
  std::function<std::unique_ptr<Optimizer>(std::vector<ParameterGroup>)> make;
  std::function<ReferenceStep()> reference;
};

template <typename T, typename Options>
OptimizerCase Case(std::string name, Options options,
                   ReferenceStep (*reference)(const Options&)) {
  return {std::move(name),
          [options](std::vector<ParameterGroup> groups) {
            return std::make_unique<T>(std::move(groups), options);
          },
          [options, reference] { return reference(options); }};
}

std::vector<OptimizerCase> AllOptimizers() {
  const auto sgd = [](std::string name, SgdOptions options) {
    return Case<Sgd>(std::move(name), options, ReferenceSgd);
  };
  const auto adam = [](std::string name, AdamOptions options) {
    return Case<Adam>(std::move(name), options, ReferenceAdam);
  };
  const auto rmsprop = [](std::string name, RmspropOptions options) {
    return Case<Rmsprop>(std::move(name), options, ReferenceRmsprop);
  };
  const auto lamb = [](std::string name, LambOptions options) {
    return Case<Lamb>(std::move(name), options, ReferenceLamb);
  };
  RmspropOptions tensorflow = RmspropTfDefaults();
  tensorflow.centered = true;
  RmspropOptions decoupled = RmspropTfDefaults();
  decoupled.lr_in_momentum = false;
  decoupled.decoupled_decay = true;
  decoupled.weight_decay = 0.01;
  return {
      sgd("sgd", {}),
      sgd("sgd_plain", {.momentum = 0, .weight_decay = 0}),
      sgd("sgd_nesterov", {.weight_decay = 0.01, .nesterov = true}),
      sgd("sgd_dampening", {.dampening = 0.3}),
      adam("adam", {.weight_decay = 0.01}),
      adam("adam_amsgrad", {.beta1 = 0.8, .beta2 = 0.9, .amsgrad = true}),
      adam("adamw", {.weight_decay = 0.1, .decoupled = true}),
      rmsprop("rmsprop", {}),
      rmsprop("rmsprop_plain", {.weight_decay = 0, .momentum = 0}),
      rmsprop("rmsprop_centered", {.alpha = 0.9, .centered = true}),
      rmsprop("rmsprop_tf", RmspropTfDefaults()),
      rmsprop("rmsprop_tf_centered", tensorflow),
      rmsprop("rmsprop_tf_decoupled", decoupled),
      lamb("lamb", {}),
      lamb("lamb_free", {.weight_decay = 0,
                         .bias_correction = false,
                         .grad_averaging = false,
                         .max_grad_norm = 100}),
      lamb("lamb_adapted", {.weight_decay = 0,
                            .max_grad_norm = 0.5,
                            .trust_clip = true,
                            .always_adapt = true}),
  };
}

// How parameters and their gradients lie in memory. Both functions get float
// tensors of 2 x 3 x 4 x 5 in the usual order.
struct LayoutCase {
  std::string name;
  std::function<at::Tensor(const at::Tensor&)> parameter;
  std::function<at::Tensor(const at::Tensor&)> gradient;
};

at::Tensor AsIs(const at::Tensor& tensor) { return tensor; }

at::Tensor ChannelsLast(const at::Tensor& tensor) {
  return tensor.contiguous(at::MemoryFormat::ChannelsLast);
}

// Dense, but in no order that has a name.
at::Tensor Permuted(const at::Tensor& tensor) {
  return tensor.permute({3, 0, 2, 1}).contiguous().permute({1, 3, 2, 0});
}

at::Tensor Expanded(const at::Tensor& tensor) {
  return tensor.narrow(2, 0, 1).expand_as(tensor);
}

at::Tensor WithGaps(const at::Tensor& tensor) {
  const at::Tensor wide = at::zeros({2, 3, 4, 9});
  wide.narrow(3, 2, 5).copy_(tensor);
  return wide.narrow(3, 2, 5);
}

std::vector<LayoutCase> AllLayouts() {
  return {
      {"contiguous", AsIs, AsIs},
      {"channels_last", ChannelsLast, ChannelsLast},
      {"channels_last_parameter", ChannelsLast, AsIs},
      {"channels_last_gradient", AsIs, ChannelsLast},
      {"permuted_parameter", Permuted, AsIs},
      {"expanded_gradient", AsIs, Expanded},
      {"gradient_with_gaps", ChannelsLast, WithGaps},
      {"bf16_gradient", AsIs,
       [](const at::Tensor& tensor) { return tensor.to(at::kBFloat16); }},
      {"double",
       [](const at::Tensor& tensor) { return tensor.to(at::kDouble); },
       [](const at::Tensor& tensor) { return tensor.to(at::kDouble); }},
  };
}

// Smooth numbers without a pattern, of 2 x 3 x 4 x 5.
at::Tensor Wave(double phase) {
  return at::arange(120, at::kDouble)
      .mul(0.7)
      .add(phase)
      .sin()
      .to(at::kFloat)
      .reshape({2, 3, 4, 5});
}

std::vector<double> ToNumbers(const at::Tensor& tensor) {
  const at::Tensor flat =
      tensor.detach().to(at::kDouble).contiguous().reshape({-1});
  const double* data = flat.const_data_ptr<double>();
  return std::vector<double>(data, data + flat.numel());
}

at::Tensor Parameter(at::Tensor values) {
  return values.clone().detach().requires_grad_(true);
}

ParameterGroup Group(
    std::vector<std::pair<std::string, at::Tensor>> parameters) {
  return {.name = "default", .parameters = std::move(parameters)};
}

// Rates that change, as a schedule makes them.
double RateOf(int step) { return 0.05 / (1 + step); }

// Two parameters, in the layout of a case.
struct Net {
  explicit Net(const LayoutCase& layout)
      : layout(layout),
        a(Parameter(layout.parameter(Wave(0.1)))),
        b(Parameter(layout.parameter(Wave(0.2).mul(3)))) {}

  std::vector<ParameterGroup> Groups() const {
    return {Group({{"a", a}, {"b", b}})};
  }
  void SetGradients(int step) const {
    a.mutable_grad() = layout.gradient(Wave(1.3 * step + 2));
    b.mutable_grad() = layout.gradient(Wave(0.9 * step - 1).mul(0.3));
  }
  Numbers values() const { return {ToNumbers(a), ToNumbers(b)}; }
  Numbers gradients() const {
    return {ToNumbers(a.grad()), ToNumbers(b.grad())};
  }

  LayoutCase layout;
  at::Tensor a;
  at::Tensor b;
};

void ExpectNear(const Numbers& found, const Numbers& expected, int step) {
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t k = 0; k < expected[i].size(); ++k) {
      ASSERT_NEAR(found[i][k], expected[i][k],
                  2e-6 + 2e-5 * std::abs(expected[i][k]))
          << "step " << step << ", parameter " << i << ", element " << k;
    }
  }
}

class EachOptimizerAndLayout
    : public testing::TestWithParam<std::tuple<OptimizerCase, LayoutCase>> {};

TEST_P(EachOptimizerAndLayout, FollowsTheFormula) {
  const auto& [optimizer_case, layout] = GetParam();
  const Net net(layout);
  const std::unique_ptr<Optimizer> optimizer =
      optimizer_case.make(net.Groups());
  ReferenceStep reference = optimizer_case.reference();
  Numbers expected = net.values();
  for (int step = 0; step < 6; ++step) {
    net.SetGradients(step);
    reference(expected, net.gradients(), RateOf(step));
    const Numbers gradients = net.gradients();
    ASSERT_TRUE(optimizer->Step({RateOf(step)}).ok());
    ExpectNear(net.values(), expected, step);
    EXPECT_EQ(net.gradients(), gradients);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EachOptimizerAndLayout,
                         testing::Combine(testing::ValuesIn(AllOptimizers()),
                                          testing::ValuesIn(AllLayouts())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_on_" +
                                  std::get<1>(info.param).name;
                         });

class EachOptimizer : public testing::TestWithParam<OptimizerCase> {};

INSTANTIATE_TEST_SUITE_P(All, EachOptimizer, testing::ValuesIn(AllOptimizers()),
                         [](const auto& info) { return info.param.name; });

const LayoutCase kChannelsLast = {"", ChannelsLast, ChannelsLast};

void Train(Optimizer& optimizer, const Net& net, int from, int to) {
  for (int step = from; step < to; ++step) {
    net.SetGradients(step);
    ASSERT_TRUE(optimizer.Step({RateOf(step)}).ok());
  }
}

TEST_P(EachOptimizer, ContinuesExactlyFromItsState) {
  const Net straight(kChannelsLast);
  const auto whole = GetParam().make(straight.Groups());
  Train(*whole, straight, 0, 6);

  const Net first(kChannelsLast);
  const auto before = GetParam().make(first.Groups());
  Train(*before, first, 0, 3);
  const Net second(kChannelsLast);
  second.a.set_data(first.a.detach().clone());
  second.b.set_data(first.b.detach().clone());
  // A file keeps no strides.
  auto state = before->State();
  for (auto& [name, entry] : state) {
    for (auto& [key, tensor] : entry) tensor = tensor.contiguous();
  }
  const auto after = GetParam().make(second.Groups());
  ASSERT_TRUE(after->LoadState(state).ok());
  Train(*after, second, 3, 6);
  EXPECT_EQ(second.values(), straight.values());
}

TEST_P(EachOptimizer, FollowsAParameterIntoAnotherLayout) {
  const Net net({"", AsIs, ChannelsLast});
  const auto optimizer = GetParam().make(net.Groups());
  ReferenceStep reference = GetParam().reference();
  Numbers expected = net.values();
  for (int step = 0; step < 4; ++step) {
    if (step == 2) net.a.set_data(ChannelsLast(net.a.detach()));
    net.SetGradients(step);
    reference(expected, net.gradients(), RateOf(step));
    ASSERT_TRUE(optimizer->Step({RateOf(step)}).ok());
    ExpectNear(net.values(), expected, step);
  }
}

TEST_P(EachOptimizer, LeavesParametersWithoutGradientAlone) {
  const Net net(kChannelsLast);
  const auto optimizer = GetParam().make(net.Groups());
  net.SetGradients(0);
  net.b.mutable_grad().reset();
  const std::vector<double> before = ToNumbers(net.b);
  ASSERT_TRUE(optimizer->Step({0.1}).ok());
  EXPECT_EQ(ToNumbers(net.b), before);
  for (const auto& [name, entry] : optimizer->State()) EXPECT_EQ(name, "a");
}

TEST_P(EachOptimizer, IsTheSameAsAPartOfACompiledStep) {
  const Net fused(kChannelsLast);
  const auto kernels = GetParam().make(fused.Groups());
  const Net plain(kChannelsLast);
  const auto operations = GetParam().make(plain.Groups());
  auto& update = dynamic_cast<StepUpdate&>(*operations);
  if (absl::IsFailedPrecondition(update.UpdatedTensors().status())) {
    EXPECT_THAT(GetParam().name,
                AnyOf(StartsWith("rmsprop"), StartsWith("lamb")));
    return;
  }
  Train(*kernels, fused, 0, 2);
  Train(*operations, plain, 0, 2);
  TrainingState state;
  for (int step = 2; step < 5; ++step) {
    fused.SetGradients(step);
    plain.SetGradients(step);
    ASSERT_TRUE(kernels->Step({RateOf(step)}).ok());
    const auto numbers = update.StepNumbers(StepContext(state), {RateOf(step)});
    ASSERT_TRUE(numbers.ok()) << numbers.status();
    std::vector<at::Tensor> scalars;
    for (const double number : *numbers) {
      scalars.push_back(at::full({}, number, at::kFloat));
    }
    update.Update(scalars);
    update.TookStep();
    ExpectNear(plain.values(), fused.values(), step);
  }
  const auto expected = kernels->State();
  const auto found = operations->State();
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t k = 0; k < expected[i].second.size(); ++k) {
      EXPECT_TRUE(found[i].second[k].second.allclose(
          expected[i].second[k].second, 1e-5, 1e-6))
          << expected[i].first << " " << expected[i].second[k].first;
    }
  }
}

// --- What all have in common -------------------------------------------------

TEST(StateOptimizer, StartsAParameterWithItsFirstGradient) {
  const Net net({"", AsIs, AsIs});
  Sgd optimizer(net.Groups(), {.dampening = 0.5, .weight_decay = 0});
  net.SetGradients(0);
  net.b.mutable_grad().reset();
  ASSERT_TRUE(optimizer.Step({0.1}).ok());
  net.SetGradients(1);
  const Numbers before = net.values();
  const Numbers gradients = net.gradients();
  ASSERT_TRUE(optimizer.Step({0.1}).ok());
  // b's buffer is its gradient, undampened, while a's second one is.
  EXPECT_NEAR(net.values()[1][7], before[1][7] - 0.1 * gradients[1][7], 1e-6);
  EXPECT_NE(net.values()[0][7], before[0][7] - 0.1 * gradients[0][7]);
}

TEST(StateOptimizer, UsesEachGroupsRateAndWeightDecay) {
  const Net net({"", AsIs, AsIs});
  ParameterGroup a = Group({{"a", net.a}});
  ParameterGroup b = Group({{"b", net.b}});
  b.weight_decay = 0.5;
  Sgd optimizer({a, b}, {.momentum = 0, .weight_decay = 0});
  const Numbers before = net.values();
  net.SetGradients(0);
  const Numbers gradients = net.gradients();
  ASSERT_TRUE(optimizer.Step({0.1, 0.01}).ok());
  EXPECT_NEAR(net.values()[0][3], before[0][3] - 0.1 * gradients[0][3], 1e-6);
  EXPECT_NEAR(net.values()[1][3],
              before[1][3] - 0.01 * (gradients[1][3] + 0.5 * before[1][3]),
              1e-6);
}

TEST(StateOptimizer, IsNoPartOfAGraphBeforeItsStateIsThere) {
  const Net net({"", AsIs, AsIs});
  Sgd with_momentum(net.Groups(), {});
  EXPECT_TRUE(absl::IsUnavailable(with_momentum.UpdatedTensors().status()));
  Sgd without(net.Groups(), {.momentum = 0});
  EXPECT_TRUE(without.UpdatedTensors().ok());
  net.SetGradients(0);
  ASSERT_TRUE(with_momentum.Step({0.1}).ok());
  const auto tensors = with_momentum.UpdatedTensors();
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 2);
  EXPECT_EQ((*tensors)[0].first, "momentum_buffer/a");
}

TEST(StateOptimizer, IsNoPartOfAGraphWhereParametersDifferInTheirSteps) {
  const Net net({"", AsIs, AsIs});
  Adam optimizer(net.Groups(), {});
  net.SetGradients(0);
  net.b.mutable_grad().reset();
  ASSERT_TRUE(optimizer.Step({0.1}).ok());
  net.SetGradients(1);
  ASSERT_TRUE(optimizer.Step({0.1}).ok());
  TrainingState state;
  EXPECT_EQ(optimizer.StepNumbers(StepContext(state), {0.1}).status(),
            absl::FailedPreconditionError(
                "parameter \"b\" has taken 1 steps, others of its group 2"));
}

TEST(StateOptimizer, RefusesAnotherNumberOfRates) {
  const Net net({"", AsIs, AsIs});
  Sgd optimizer(net.Groups(), {});
  EXPECT_EQ(optimizer.Step({0.1, 0.2}),
            absl::InvalidArgumentError(
                "got 2 learning rates for 1 parameter groups"));
}

TEST(StateOptimizer, RefusesAParameterWithGapsBeforeAnythingChanges) {
  const Net net({"", AsIs, AsIs});
  const at::Tensor view = WithGaps(Wave(0)).requires_grad_(true);
  Sgd optimizer({Group({{"a", net.a}}), Group({{"head.view", view}})}, {});
  net.SetGradients(0);
  view.mutable_grad() = Wave(1);
  const Numbers before = net.values();
  EXPECT_EQ(optimizer.Step({0.1, 0.1}),
            absl::FailedPreconditionError(
                "parameter \"head.view\" is a view with gaps or overlaps in "
                "memory, which optimizers cannot update; give the model a "
                "contiguous copy of it"));
  EXPECT_EQ(net.values(), before);
}

TEST(StateOptimizer, RefusesASparseGradient) {
  const at::Tensor p = Parameter(at::zeros({3, 2}));
  Sgd optimizer({Group({{"embedding.weight", p}})}, {});
  p.mutable_grad() = at::zeros({3, 2}).to_sparse();
  EXPECT_EQ(optimizer.Step({0.1}),
            absl::FailedPreconditionError(
                "the gradient of parameter \"embedding.weight\" is sparse; "
                "optimizers need dense gradients"));
}

TEST(StateOptimizer, NamesItsStateAsTorchDoes) {
  const Net net(kChannelsLast);
  Adam optimizer(net.Groups(), {.amsgrad = true});
  EXPECT_TRUE(optimizer.State().empty());
  Train(optimizer, net, 0, 2);
  const auto state = optimizer.State();
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(state[0].first, "a");
  std::vector<std::string> keys;
  for (const auto& [key, tensor] : state[0].second) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"step", "exp_avg", "exp_avg_sq",
                                            "max_exp_avg_sq"}));
  EXPECT_EQ(state[0].second[0].second.item<double>(), 2);
}

TEST(StateOptimizer, ListsAllThatDoesNotFitAndChangesNothing) {
  const Net net(kChannelsLast);
  Adam optimizer(net.Groups(), {});
  Train(optimizer, net, 0, 1);
  const at::Tensor good = at::zeros({2, 3, 4, 5});
  const absl::Status status =
      optimizer.LoadState({{"a",
                            {{"step", at::zeros({2})},
                             {"exp_avg", at::zeros({2, 3})},
                             {"momentum_buffer", good}}},
                           {"c", {{"step", at::zeros({})}}}});
  EXPECT_EQ(status,
            absl::InvalidArgumentError(
                "the optimizer's state does not fit: a.step has shape [2], "
                "expected []; a.exp_avg has shape [2, 3], expected [2, 3, 4, "
                "5]; unexpected a.momentum_buffer; missing a.exp_avg_sq; "
                "unexpected parameter \"c\""));
  EXPECT_EQ(optimizer.State().size(), 2u);
  EXPECT_EQ(optimizer.State()[0].second[0].second.item<double>(), 1);
}

// O14 of tests/bug_reports.md: equal shapes, other order, other groups.
TEST(StateOptimizer, GivesEachParameterItsOwnStateInAnyOrderAndGroup) {
  const at::Tensor a = at::zeros({2}).requires_grad_();
  const at::Tensor b = at::zeros({2}).requires_grad_();
  const std::vector<std::pair<std::string, OptimizerState>> saved = {
      {"a", {{"momentum_buffer", at::full({2}, 1.0)}}},
      {"b", {{"momentum_buffer", at::full({2}, 10.0)}}}};
  const std::vector<std::vector<ParameterGroup>> layouts = {
      {{.name = "default", .parameters = {{"b", b}, {"a", a}}}},
      {{.name = "default", .parameters = {{"b", b}}, .weight_decay = 0},
       {.name = "default", .parameters = {{"a", a}}}}};
  for (const std::vector<ParameterGroup>& groups : layouts) {
    Sgd optimizer(groups, {});
    ASSERT_TRUE(optimizer.LoadState(saved).ok());
    for (const auto& [name, state] : optimizer.State()) {
      EXPECT_EQ(ToNumbers(state[0].second)[0], name == "a" ? 1 : 10) << name;
    }
  }
}

TEST(StateOptimizer, LoadingReplacesAllState) {
  const Net net(kChannelsLast);
  Sgd optimizer(net.Groups(), {});
  Train(optimizer, net, 0, 2);
  const at::Tensor buffer = Wave(5);
  ASSERT_TRUE(optimizer.LoadState({{"b", {{"momentum_buffer", buffer}}}}).ok());
  const auto state = optimizer.State();
  ASSERT_EQ(state.size(), 1u);
  EXPECT_EQ(state[0].first, "b");
  EXPECT_EQ(ToNumbers(state[0].second[0].second), ToNumbers(buffer));
  EXPECT_NE(state[0].second[0].second.data_ptr(), buffer.data_ptr());
}

TEST(StateOptimizer, DropsGradients) {
  const Net net(kChannelsLast);
  Sgd optimizer(net.Groups(), {});
  net.SetGradients(0);
  optimizer.ZeroGrad();
  EXPECT_FALSE(net.a.grad().defined());
  EXPECT_FALSE(net.b.grad().defined());
}

TEST(SameLayout, IgnoresStridesOfSingleElements) {
  const at::Tensor weight = at::zeros({8, 4, 1, 1});
  EXPECT_TRUE(SameLayout(weight, ChannelsLast(weight)));
  const at::Tensor other = ChannelsLast(weight);
  EXPECT_TRUE(FitTo(other, weight).is_same(other));
  const at::Tensor wide = at::zeros({8, 4, 3, 3});
  EXPECT_FALSE(SameLayout(wide, ChannelsLast(wide)));
  EXPECT_FALSE(SameLayout(wide, at::zeros({8, 4, 9})));
}

}  // namespace
}  // namespace slipway::optim
