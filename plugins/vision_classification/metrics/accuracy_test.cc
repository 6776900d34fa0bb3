#include "plugins/vision_classification/metrics/accuracy.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ATen/ops/one_hot.h"
#include "ATen/ops/tensor.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"
#include "trainer/recipe/yaml.h"

namespace slipway::vision_classification {
namespace {

at::Tensor Classes(std::vector<int64_t> classes) {
  return at::tensor(classes, at::TensorOptions(at::kLong));
}

// Scores [n, 6] in which class c of row i ranks (c - first[i]) mod 6: the best
// is first[i], the worst the class before it.
at::Tensor Ranked(std::vector<int64_t> first) {
  at::Tensor scores = at::zeros({static_cast<int64_t>(first.size()), 6});
  for (size_t i = 0; i < first.size(); ++i) {
    for (int64_t rank = 0; rank < 6; ++rank) {
      scores[i][(first[i] + rank) % 6] = -static_cast<double>(rank);
    }
  }
  return scores;
}

double Only(const Metric& metric, const std::string& name) {
  const auto values = metric.Compute();
  EXPECT_EQ(values.size(), 1u);
  EXPECT_EQ(values[0].first, name);
  return values[0].second;
}

void Update(Metric& metric, const at::Tensor& prediction,
            const at::Tensor& target, int64_t valid) {
  const absl::Status status =
      metric.Update(Value(prediction), Value(target), valid);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Accuracy, CountsTheBestClassOverBatches) {
  Accuracy accuracy;
  Update(accuracy, Ranked({0, 1, 2, 3}), Classes({0, 1, 2, 0}), 4);
  EXPECT_DOUBLE_EQ(Only(accuracy, "Accuracy"), 0.75);
  Update(accuracy, Ranked({5, 5}), Classes({0, 5}), 2);
  EXPECT_DOUBLE_EQ(Only(accuracy, "Accuracy"), 4.0 / 6);
  accuracy.Reset();
  EXPECT_TRUE(std::isnan(Only(accuracy, "Accuracy")));
  Update(accuracy, Ranked({5, 5}), Classes({0, 5}), 2);
  EXPECT_DOUBLE_EQ(Only(accuracy, "Accuracy"), 0.5);
}

TEST(Top5, CountsAllClassesButTheWorst) {
  Top5 top5;
  // Of six classes only the one before the best is not among the best five.
  Update(top5, Ranked({0, 0, 0, 0}), Classes({0, 3, 4, 5}), 4);
  EXPECT_DOUBLE_EQ(Only(top5, "Top5"), 0.75);
}

TEST(Accuracy, CountsValidRowsOnly) {
  for (int64_t valid : {0, 1, 3}) {
    Accuracy accuracy;
    Top5 top5;
    // The first row is right; those after it are wrong, for both.
    Update(accuracy, Ranked({0, 0, 0}), Classes({0, 5, 5}), valid);
    Update(top5, Ranked({0, 0, 0}), Classes({0, 5, 5}), valid);
    if (valid == 0) {
      EXPECT_TRUE(std::isnan(Only(accuracy, "Accuracy")));
    } else {
      EXPECT_DOUBLE_EQ(Only(accuracy, "Accuracy"), 1.0 / valid);
      EXPECT_DOUBLE_EQ(Only(top5, "Top5"), 1.0 / valid);
    }
  }
}

TEST(Accuracy, TakesDistributionsByTheirMostLikelyClass) {
  const at::Tensor dense =
      at::one_hot(Classes({0, 1}), 6).mul(0.5).add(0.1).to(at::kFloat);
  Accuracy accuracy;
  Top5 top5;
  Update(accuracy, Ranked({0, 2}), dense, 2);
  Update(top5, Ranked({0, 2}), dense, 2);
  EXPECT_DOUBLE_EQ(Only(accuracy, "Accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(Only(top5, "Top5"), 0.5);
}

TEST(Accuracy, CountsPixelsOfMasks) {
  // [1, 6, 1, 4]: four pixels.
  const at::Tensor prediction = Ranked({0, 1, 2, 3}).t().reshape({1, 6, 1, 4});
  Accuracy accuracy;
  Update(accuracy, prediction, Classes({0, 1, 5, 5}).view({1, 1, 4}), 1);
  EXPECT_DOUBLE_EQ(Only(accuracy, "Accuracy"), 0.5);
}

TEST(Accuracy, AddsUpOverRanksByItsMeters) {
  Accuracy here;
  Accuracy there;
  Update(here, Ranked({0, 1, 2}), Classes({0, 1, 2}), 3);
  Update(there, Ranked({0}), Classes({5}), 1);
  ASSERT_EQ(here.Meters().size(), 1u);
  here.Meters()[0].add_(there.Meters()[0]);
  EXPECT_DOUBLE_EQ(Only(here, "Accuracy"), 0.75);
}

TEST(Accuracy, LeavesNoGradientBehind) {
  const at::Tensor prediction = Ranked({0, 1}).set_requires_grad(true);
  Accuracy accuracy;
  Top5 top5;
  Update(accuracy, prediction, Classes({0, 1}), 2);
  Update(top5, prediction, Classes({0, 1}), 2);
  EXPECT_FALSE(accuracy.Meters()[0].requires_grad());
  EXPECT_FALSE(top5.Meters()[0].requires_grad());
  EXPECT_TRUE(accuracy.greater_is_better("Accuracy"));
}

TEST(Accuracy, RefusesWhatDoesNotFit) {
  Accuracy accuracy;
  EXPECT_EQ(
      accuracy.Update(Value(Ranked({0})), Value(Classes({0, 1})), 1),
      absl::InvalidArgumentError(
          "Accuracy: expected a prediction float[n, classes, ...] and a target "
          "long[n, ...] or float[n, classes, ...], but found float[1, 6] and "
          "long[2]"));
  EXPECT_FALSE(accuracy.Update(Value(), Value(Classes({0})), 1).ok());
}

TEST(Top5, RefusesFewerThanFiveClasses) {
  Top5 top5;
  EXPECT_EQ(top5.Update(Value(at::zeros({2, 4})), Value(Classes({0, 1})), 2),
            absl::InvalidArgumentError(
                "Top5: expected a prediction float[n, classes] of 5 classes or "
                "more, but found float[2, 4]"));
}

TEST(Metrics, AreBuiltByName) {
  Components components;
  RegisterMetrics(components);
  Problems problems;
  const recipe::Node recipe;
  const recipe::Node params =
      recipe::ParseYaml("{dist_sync_on_step: false}", "r.yaml", problems)
          .value();
  for (const std::string& name : components.metrics.names()) {
    const std::unique_ptr<Metric> metric = (*components.metrics.Find(name))(
        BuildArgs{params, recipe, components, problems});
    ASSERT_NE(metric, nullptr) << FormatProblems(problems);
    EXPECT_TRUE(std::isnan(Only(*metric, name)));
  }
  const recipe::Node bad =
      recipe::ParseYaml("{top_k: 3}", "r.yaml", problems).value();
  EXPECT_EQ(BuildTop5(BuildArgs{bad, recipe, components, problems}), nullptr);
  EXPECT_EQ(FormatProblems(problems),
            R"(error: unknown parameter "top_k" of metric Top5
  where:  r.yaml:1:2
  hint:   known are dist_sync_on_step
)");
}

}  // namespace
}  // namespace slipway::vision_classification
