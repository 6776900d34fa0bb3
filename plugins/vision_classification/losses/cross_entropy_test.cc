#include "plugins/vision_classification/losses/cross_entropy.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ATen/core/Reduction.h"
#include "ATen/ops/cross_entropy_loss.h"
#include "ATen/ops/full.h"
#include "ATen/ops/log_softmax.h"
#include "ATen/ops/tensor.h"
#include "ATen/ops/zeros.h"
#include "c10/util/Exception.h"
#include "gtest/gtest.h"
#include "trainer/data/rng.h"
#include "trainer/recipe/yaml.h"

namespace slipway::vision_classification {
namespace {

constexpr double kTolerance = 1e-6;

at::Tensor Random(std::vector<int64_t> shape, uint64_t seed = 1) {
  at::Tensor tensor = at::zeros(shape);
  data::Rng rng(seed, 0, 0);
  float* values = tensor.mutable_data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = rng.Normal();
  return tensor;
}

at::Tensor Classes(std::vector<int64_t> classes) {
  return at::tensor(classes, at::TensorOptions(at::kLong));
}

at::Tensor Numbers(std::vector<double> numbers) {
  return at::tensor(numbers, at::TensorOptions(at::kFloat));
}

double Loss(const CrossEntropyOptions& options, const at::Tensor& prediction,
            const at::Tensor& target) {
  const absl::StatusOr<LossOutput> loss =
      CrossEntropyLoss(options).Compute(Value(prediction), Value(target));
  EXPECT_TRUE(loss.ok()) << loss.status();
  EXPECT_EQ(loss->total.dim(), 0);
  EXPECT_TRUE(loss->items.empty());
  return loss->total.item<double>();
}

// Two samples of three classes, whose probabilities are 1/7, 2/7, 4/7 and 4/7,
// 2/7, 1/7.
const at::Tensor& Sevenths() {
  static const at::Tensor& logits = *new at::Tensor(
      Numbers({0, std::log(2), std::log(4), std::log(4), std::log(2), 0})
          .view({2, 3}));
  return logits;
}

const double kOne = std::log(7);         // -log 1/7
const double kTwo = std::log(7.0 / 2);   // -log 2/7
const double kFour = std::log(7.0 / 4);  // -log 4/7

TEST(CrossEntropyLoss, IsTheFormulaWorkedOutByHand) {
  struct Case {
    const char* name;
    CrossEntropyOptions options;
    at::Tensor target;
    double loss;
  };
  const at::Tensor classes = Classes({2, 1});
  const at::Tensor one_ignored = Classes({2, 9});
  const double all = (kOne + kTwo + kFour) / 3;
  const std::vector<double> w = {1, 3, 5};
  // sum_k w[k] log p[k] / 3 of each sample.
  const double all1 = (1 * kOne + 3 * kTwo + 5 * kFour) / 3;
  const double all2 = (1 * kFour + 3 * kTwo + 5 * kOne) / 3;
  const Case cases[] = {
      {"mean", {}, classes, (kFour + kTwo) / 2},
      {"sum", {.sum = true}, classes, kFour + kTwo},
      {"ignored", {.ignore_index = 9}, one_ignored, kFour},
      {"weights", {.weight = w}, classes, (5 * kFour + 3 * kTwo) / 8},
      {"weights and ignored",
       {.weight = w, .ignore_index = 9},
       one_ignored,
       kFour},
      {"smoothed",
       {.smooth_eps = 0.1},
       classes,
       0.9 * (kFour + kTwo) / 2 + 0.1 * all},
      {"smoothed and ignored",
       {.ignore_index = 9, .smooth_eps = 0.1},
       one_ignored,
       0.9 * kFour + 0.1 * all},
      {"smoothed, ignored below zero",
       {.smooth_eps = 0.1},
       Classes({2, -100}),
       0.9 * kFour + 0.1 * all},
      {"smoothed and summed",
       {.sum = true, .smooth_eps = 0.1},
       classes,
       0.9 * (kFour + kTwo) + 0.2 * all},
      {"smoothed with weights",
       {.weight = w, .smooth_eps = 0.1},
       classes,
       (0.9 * (5 * kFour + 3 * kTwo) + 0.1 * (all1 + all2)) / 2},
      {"smoothed by a distribution",
       {.smooth_eps = 0.2, .smooth_dist = {0.5, 0.5, 0}},
       classes,
       (0.8 * (kFour + kTwo) + 0.2 * ((kOne + kTwo) / 2 + (kFour + kTwo) / 2)) /
           2},
      {"dense",
       {},
       Numbers({0, 0.25, 0.75, 0, 1, 0}).view({2, 3}),
       (0.25 * kTwo + 0.75 * kFour + kTwo) / 2},
      {"dense with weights",
       {.weight = w},
       Numbers({0, 0.25, 0.75, 0, 1, 0}).view({2, 3}),
       (0.75 * kTwo + 3.75 * kFour + 3 * kTwo) / 2},
      {"dense is not smoothed again",
       {.smooth_eps = 0.5},
       Numbers({0, 0.25, 0.75, 0, 1, 0}).view({2, 3}),
       (0.25 * kTwo + 0.75 * kFour + kTwo) / 2},
      {"dense, smoothed by a distribution",
       {.smooth_eps = 0.5, .smooth_dist = {1, 0, 0}},
       Numbers({0, 0, 1, 0, 1, 0}).view({2, 3}),
       (kFour + kOne + kTwo + kFour) / 4},
  };
  for (const Case& c : cases) {
    EXPECT_NEAR(Loss(c.options, Sevenths(), c.target), c.loss, kTolerance)
        << c.name;
  }
}

TEST(CrossEntropyLoss, EqualsAtenWhereAtenHasTheFormula) {
  const at::Tensor prediction = Random({16, 10});
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < 16; ++i) numbers.push_back(i % 10);
  const at::Tensor classes = Classes(numbers);
  for (double eps : {0.0, 0.1, 1.0}) {
    for (int64_t ignore : {-100, 3}) {
      for (bool sum : {false, true}) {
        const at::Tensor expected = at::cross_entropy_loss(
            prediction, classes, /*weight=*/{},
            sum ? at::Reduction::Sum : at::Reduction::Mean, ignore, eps);
        EXPECT_NEAR(
            Loss({.ignore_index = ignore, .sum = sum, .smooth_eps = eps},
                 prediction, classes),
            expected.item<double>(), 1e-5);
      }
    }
  }
}

TEST(CrossEntropyLoss, TakesMasksLikeImages) {
  // [2, 3, 2, 2] is eight samples of three classes.
  const at::Tensor mask_prediction = Random({2, 3, 2, 2});
  const at::Tensor classes = Classes({0, 1, 2, 9, 1, 0, 9, 2});
  const at::Tensor flat = mask_prediction.permute({0, 2, 3, 1}).reshape({8, 3});
  for (double eps : {0.0, 0.2}) {
    const CrossEntropyOptions options = {
        .weight = {1, 2, 3}, .ignore_index = 9, .smooth_eps = eps};
    EXPECT_NEAR(Loss(options, mask_prediction, classes.view({2, 2, 2})),
                Loss(options, flat, classes), kTolerance);
  }
  const at::Tensor dense = Random({2, 3, 2, 2}, 2).softmax(1);
  EXPECT_NEAR(Loss({}, mask_prediction, dense),
              Loss({}, flat, dense.permute({0, 2, 3, 1}).reshape({8, 3})),
              kTolerance);
}

TEST(CrossEntropyLoss, TakesLogarithmsAsTheyAre) {
  const at::Tensor log_p = at::log_softmax(Sevenths(), 1);
  const at::Tensor classes = Classes({2, 1});
  for (double eps : {0.0, 0.1}) {
    EXPECT_NEAR(Loss({.smooth_eps = eps, .from_logits = false}, log_p, classes),
                Loss({.smooth_eps = eps}, Sevenths(), classes), kTolerance);
  }
}

TEST(CrossEntropyLoss, TakesClassesOfAnyIntegerType) {
  for (at::ScalarType type : {at::kByte, at::kInt}) {
    EXPECT_NEAR(Loss({}, Sevenths(), Classes({2, 1}).to(type)),
                (kFour + kTwo) / 2, kTolerance);
  }
}

TEST(CrossEntropyLoss, ComputesInFullPrecision) {
  const at::Tensor half = Sevenths().to(at::kBFloat16);
  const absl::StatusOr<LossOutput> loss =
      CrossEntropyLoss({.weight = {1, 1, 1}, .smooth_eps = 0.1})
          .Compute(Value(half), Value(Classes({2, 1})));
  ASSERT_TRUE(loss.ok()) << loss.status();
  EXPECT_EQ(loss->total.scalar_type(), at::kFloat);
}

TEST(CrossEntropyLoss, HasTheGradientOfItsFormula) {
  at::Tensor prediction = Sevenths().clone().set_requires_grad(true);
  CrossEntropyLoss loss({.smooth_eps = 0.3});
  loss.Compute(Value(prediction), Value(Classes({2, 1})))
      .value()
      .total.backward();
  // (p - t) / n with t the smoothed target.
  const at::Tensor expected =
      Numbers({1. / 7 - 0.1, 2. / 7 - 0.1, 4. / 7 - 0.8, 4. / 7 - 0.1,
               2. / 7 - 0.8, 1. / 7 - 0.1})
          .view({2, 3})
          .div(2);
  EXPECT_LT(prediction.grad().sub(expected).abs().max().item<double>(),
            kTolerance);
}

TEST(CrossEntropyLoss, IsNotANumberWhereAllIsIgnored) {
  for (double eps : {0.0, 0.1}) {
    EXPECT_TRUE(std::isnan(Loss({.ignore_index = 1, .smooth_eps = eps},
                                Sevenths(), Classes({1, 1}))));
  }
}

TEST(CrossEntropyLoss, RefusesWhatDoesNotFit) {
  struct Case {
    CrossEntropyOptions options;
    Value prediction;
    Value target;
    const char* message;
  };
  const Case cases[] = {
      {{},
       Value(Sevenths()),
       Value(Classes({1, 2, 0})),
       "CrossEntropyLoss: expected a prediction float[n, classes, ...] and a "
       "target long[n, ...] or float[n, classes, ...], but found float[2, 3] "
       "and long[3]"},
      {{},
       Value(Value::List{Value(Sevenths())}),
       Value(Classes({1, 2})),
       "CrossEntropyLoss: expected a prediction float[n, classes, ...] and a "
       "target long[n, ...] or float[n, classes, ...], but found "
       "[float[2, 3]] and long[2]"},
      {{},
       Value(Sevenths()),
       Value(at::zeros({2, 4})),
       "CrossEntropyLoss: expected a prediction float[n, classes, ...] and a "
       "target long[n, ...] or float[n, classes, ...], but found float[2, 3] "
       "and float[2, 4]"},
      {{.weight = {1, 2}},
       Value(Sevenths()),
       Value(Classes({1, 2})),
       "CrossEntropyLoss: \"weight\" has 2 numbers, but the prediction has 3 "
       "classes"},
      {{.smooth_eps = 0.1, .smooth_dist = {1}},
       Value(Sevenths()),
       Value(Classes({1, 2})),
       "CrossEntropyLoss: \"smooth_dist\" has 1 numbers, but the prediction "
       "has 3 classes"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(
        CrossEntropyLoss(c.options).Compute(c.prediction, c.target).status(),
        absl::InvalidArgumentError(c.message));
  }
}

TEST(CrossEntropyLoss, ThrowsForAClassThatDoesNotExist) {
  for (double eps : {0.0, 0.1}) {
    CrossEntropyLoss loss({.smooth_eps = eps});
    EXPECT_THROW((void)loss.Compute(Value(Sevenths()), Value(Classes({1, 3}))),
                 c10::Error);
  }
}

TEST(CrossEntropyLoss, ListsItsWeightAsState) {
  EXPECT_TRUE(CrossEntropyLoss({}).State().empty());
  const auto state = CrossEntropyLoss({.weight = {1, 2}}).State();
  ASSERT_EQ(state.size(), 1u);
  EXPECT_EQ(state[0].first, "weight");
  EXPECT_EQ(state[0].second.numel(), 2);
}

TEST(CrossEntropyLoss, IsBuiltFromItsParameters) {
  Components components;
  RegisterLosses(components);
  Problems problems;
  const recipe::Node recipe;
  const recipe::Node good =
      recipe::ParseYaml("{smooth_eps: 0.1, ignore_index: 9, weight: null}",
                        "r.yaml", problems)
          .value();
  for (const char* name : {"CrossEntropyLoss", "cross_entropy"}) {
    const std::unique_ptr<slipway::Loss> loss = (*components.losses.Find(name))(
        BuildArgs{good, recipe, components, problems});
    ASSERT_NE(loss, nullptr) << FormatProblems(problems);
    EXPECT_NEAR(loss->Compute(Value(Sevenths()), Value(Classes({2, 9})))
                    .value()
                    .total.item<double>(),
                0.9 * kFour + 0.1 * (kOne + kTwo + kFour) / 3, kTolerance);
  }
  const recipe::Node bad =
      recipe::ParseYaml("{smooth_esp: 0.1, smooth_eps: 2, reduction: none}",
                        "r.yaml", problems)
          .value();
  EXPECT_EQ(BuildCrossEntropyLoss(BuildArgs{bad, recipe, components, problems}),
            nullptr);
  EXPECT_EQ(FormatProblems(problems),
            R"(error: "reduction" of loss CrossEntropyLoss is "none"
  detail: expected one of mean, sum, found text "none"
  where:  r.yaml:1:45
error: "smooth_eps" of loss CrossEntropyLoss is 2
  detail: expected a number from 0.0 to 1.0, found integer 2
  where:  r.yaml:1:31
error: unknown parameter "smooth_esp" of loss CrossEntropyLoss
  where:  r.yaml:1:2
  hint:   did you mean "smooth_eps"?
)");
}

}  // namespace
}  // namespace slipway::vision_classification
