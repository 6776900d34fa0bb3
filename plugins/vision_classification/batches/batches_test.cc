#include "plugins/vision_classification/batches/batches.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ATen/ops/full.h"
#include "ATen/ops/scalar_tensor.h"
#include "gtest/gtest.h"
#include "trainer/recipe/yaml.h"

namespace slipway::vision_classification {
namespace {

struct Built {
  std::unique_ptr<data::Collate> collate;
  std::unique_ptr<data::Sampler> sampler;
  Problems problems;
};

Built Build(const std::string& params, int64_t size = 0) {
  Built built;
  const recipe::Node node =
      recipe::ParseYaml(params, "r.yaml", built.problems).value();
  const recipe::Node recipe;
  const Components components;
  const BuildArgs args = {node, recipe, components, built.problems, 42};
  if (size == 0) {
    built.collate = BuildCollateMixup(args);
  } else {
    built.sampler = BuildRepeatAugSampler(args, size);
  }
  return built;
}

// Image i is full of i, and of class i.
absl::StatusOr<data::Batch> Join(const std::string& params, int64_t count,
                                 uint64_t seed = 0) {
  Built built = Build(params);
  EXPECT_NE(built.collate, nullptr) << FormatProblems(built.problems);
  std::vector<data::Sample> samples(count);
  data::Batch batch;
  for (int64_t i = 0; i < count; ++i) {
    samples[i].image = at::full({3, 20, 30}, static_cast<double>(i),
                                at::TensorOptions(at::kFloat));
    samples[i].target =
        Value(at::scalar_tensor(i, at::TensorOptions(at::kLong)));
    batch.indices.push_back(i);
  }
  data::Rng rng(seed, 0, 0, data::Rng::Stream::kBatch);
  const absl::Status status = built.collate->Join(samples, batch, rng);
  if (!status.ok()) return status;
  return batch;
}

double At(const at::Tensor& tensor, int64_t i, int64_t j) {
  return tensor.select(0, i).select(0, j).item<double>();
}

TEST(CollateMixup, MixesImagesAndTargetsInTheSameProportion) {
  std::set<double> shares;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const data::Batch batch =
        Join("{num_classes: 5, label_smoothing: 0.1}", 4, seed).value();
    const at::Tensor images = batch.input.tensor();
    const at::Tensor targets = batch.target.tensor();
    EXPECT_EQ(batch.target.ShapeString(), "float[4, 5]");
    // Image 0 is full of 0 and mixed with image 3, which is full of 3.
    const double kept = 1 - images.select(0, 0).mean().item<double>() / 3;
    EXPECT_NEAR(At(targets, 0, 0), 0.02 + 0.9 * kept, 1e-5);
    EXPECT_NEAR(At(targets, 0, 3), 0.02 + 0.9 * (1 - kept), 1e-5);
    EXPECT_NEAR(At(targets, 0, 4), 0.02, 1e-6);
    EXPECT_NEAR(At(targets, 3, 3), 0.02 + 0.9 * kept, 1e-5);
    EXPECT_NEAR(targets.sum().item<double>(), 4, 1e-4);
    EXPECT_NEAR(images.select(0, 1).mean().item<double>(),
                1 * kept + 2 * (1 - kept), 1e-4);
    shares.insert(kept);
  }
  EXPECT_GT(shares.size(), 20u);
}

TEST(CollateMixup, CutsARectangleOutAndCountsItsPixels) {
  bool some = false;
  for (const char* params :
       {"{mixup_alpha: 0, cutmix_alpha: 1, num_classes: 4}",
        "{mixup_alpha: 0, cutmix_minmax: [0.2, 0.5], num_classes: 4}"}) {
    for (uint64_t seed = 0; seed < 30; ++seed) {
      const data::Batch batch = Join(params, 4, seed).value();
      const at::Tensor first = batch.input.tensor().select(0, 0);
      const at::Tensor foreign = first.eq(3);
      EXPECT_TRUE(foreign.logical_or(first.eq(0)).all().item<bool>());
      const double cut = foreign.to(at::kFloat).mean().item<double>();
      some = some || (cut > 0.05 && cut < 0.95);
      EXPECT_NEAR(At(batch.target.tensor(), 0, 3), 0.025 + 0.9 * cut, 1e-5);
      // A rectangle: rows and columns of it multiply to its area.
      const auto any = [&](int64_t dim) {
        return foreign.select(0, 0).any(dim).sum().item<int64_t>();
      };
      EXPECT_EQ(any(0) * any(1), foreign.select(0, 0).sum().item<int64_t>());
    }
  }
  EXPECT_TRUE(some);
}

TEST(CollateMixup, DrawsForEachOfItsModes) {
  const std::string rest = ", num_classes: 8, label_smoothing: 0}";
  const std::map<std::string, size_t> different = {
      {"batch", 1}, {"pair", 4}, {"elem", 8}};
  for (const auto& [mode, count] : different) {
    const at::Tensor targets =
        Join("{mode: " + mode + rest, 8).value().target.tensor();
    std::set<float> kept;
    for (int64_t i = 0; i < 8; ++i) {
      kept.insert(static_cast<float>(At(targets, i, i)));
    }
    EXPECT_EQ(kept.size(), count) << mode;
  }
}

TEST(CollateMixup, LeavesTheMiddleOfAnOddBatch) {
  const data::Batch batch = Join("{num_classes: 3}", 3).value();
  EXPECT_NEAR(batch.input.tensor().select(0, 1).mean().item<double>(), 1, 1e-5);
  EXPECT_NEAR(At(batch.target.tensor(), 1, 1), 0.9 + 0.1 / 3, 1e-5);
}

TEST(CollateMixup, OnlySmoothsWhereItsProbabilityIsZero) {
  const data::Batch batch = Join("{prob: 0, num_classes: 4}", 4).value();
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(At(batch.target.tensor(), i, i), 0.925, 1e-6);
    EXPECT_EQ(batch.input.tensor().select(0, i).max().item<double>(), i);
  }
}

TEST(CollateMixup, RefusesAClassThatItHasNoPlaceFor) {
  EXPECT_EQ(Join("{num_classes: 3}", 4).status(),
            absl::InvalidArgumentError("a target is class 3, but num_classes "
                                       "of CollateMixup is 3"));
}

TEST(CollateMixup, ReportsWhatIsWrongWithItsParameters) {
  const Built built = Build("{mixup_alpha: 0, mode: half}");
  EXPECT_EQ(built.collate, nullptr);
  EXPECT_EQ(built.problems.size(), 2u) << FormatProblems(built.problems);
}

TEST(RepeatAugSampler, ShowsEachSampleToSeveralRanks) {
  const Built built = Build("{num_repeats: 3, selected_round: 4}", 10);
  ASSERT_NE(built.sampler, nullptr);
  EXPECT_EQ(built.sampler->size(), 8);
  const std::vector<int64_t> order = built.sampler->Order(0);
  ASSERT_EQ(order.size(), 8u);
  for (size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(order[i], order[i / 3 * 3]);
    EXPECT_LT(order[i], 10);
  }
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 3u);
  EXPECT_NE(built.sampler->Order(1), order);
  EXPECT_EQ(built.sampler->Order(0), order);
}

TEST(RepeatAugSampler, TakesRepeatsThatAreNoIntegers) {
  const Built built =
      Build("{num_repeats: 1.5, shuffle: False, selected_round: 0}", 6);
  ASSERT_NE(built.sampler, nullptr);
  EXPECT_EQ(built.sampler->Order(0), (std::vector<int64_t>{0, 0, 1, 2, 2, 3}));
}

TEST(RepeatAugSampler, RefusesARatioOfItsOwn) {
  EXPECT_EQ(Build("{selected_ratio: 2}", 10).sampler, nullptr);
}

}  // namespace
}  // namespace slipway::vision_classification
