// The plugin as a recipe meets it: its manifest, its names, its data.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ATen/ops/equal.h"
#include "gtest/gtest.h"
#include "plugins/vision_classification/batches/batches.h"
#include "plugins/vision_classification/datasets/datasets.h"
#include "plugins/vision_classification/losses/cross_entropy.h"
#include "plugins/vision_classification/metrics/accuracy.h"
#include "plugins/vision_classification/models/models.h"
#include "plugins/vision_classification/transforms/transforms.h"
#include "trainer/data/build.h"
#include "trainer/plan/manifest.h"
#include "trainer/recipe/yaml.h"

namespace slipway::vision_classification {
namespace {

class PluginTest : public testing::Test {
 protected:
  PluginTest() {
    RegisterBatches(components_);
    RegisterDatasets(components_);
    RegisterTransforms(components_);
    RegisterLosses(components_);
    RegisterMetrics(components_);
  }

  std::unique_ptr<data::Loader> Build(const std::string& recipe,
                                      data::Split split) {
    problems_.clear();
    const recipe::Node node =
        recipe::ParseYaml(recipe, "r.yaml", problems_).value();
    return data::BuildLoader(node, split, components_, {.seed = 42}, problems_);
  }

  Components components_;
  Problems problems_;
};

TEST_F(PluginTest, ListsItsComponentsInItsManifest) {
  const std::optional<plan::Manifest> manifest = plan::ReadManifest(
      "plugins/vision_classification/plugin.yaml", problems_);
  ASSERT_TRUE(manifest) << FormatProblems(problems_);
  const std::map<std::string, std::vector<std::string>> registered = {
      {"models", ModelNames()},
      {"datasets", components_.datasets.names()},
      {"transforms", components_.transforms.names()},
      {"collates", components_.collates.names()},
      {"samplers", components_.samplers.names()},
      {"losses", components_.losses.names()},
      {"metrics", components_.metrics.names()},
  };
  EXPECT_EQ(manifest->components, registered);
}

std::vector<data::Batch> EpochOf(data::Loader& loader, int64_t epoch) {
  std::vector<data::Batch> batches;
  const std::unique_ptr<data::Epoch> pass = loader.Begin(epoch);
  while (true) {
    auto batch = pass->Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || !batch->has_value()) return batches;
    batches.push_back(**std::move(batch));
  }
}

TEST_F(PluginTest, LoadsDigitsWithoutAnyParameter) {
  const auto train =
      Build("train_dataloader: digits_train", data::Split::kTrain);
  ASSERT_NE(train, nullptr) << FormatProblems(problems_);
  const std::vector<data::Batch> batches = EpochOf(*train, 0);
  ASSERT_EQ(batches.size(), 23u);
  EXPECT_EQ(batches[0].input.ShapeString(), "float[64, 1, 8, 8]");
  EXPECT_EQ(batches[0].target.ShapeString(), "long[64]");
  std::set<int64_t> seen;
  double sum = 0;
  double squares = 0;
  for (const data::Batch& batch : batches) {
    seen.insert(batch.indices.begin(), batch.indices.end());
    const at::Tensor& images = batch.input.tensor();
    sum += images.sum().item<double>();
    squares += images.square().sum().item<double>();
  }
  EXPECT_EQ(seen.size(), 1437u);
  // Shifts by a pixel lose a few borders of a normal distribution.
  EXPECT_NEAR(sum / (1437 * 64), 0, 0.1);
  EXPECT_NEAR(squares / (1437 * 64), 1, 0.1);
}

TEST_F(PluginTest, ValidatesOnDigitsAsTheyAre) {
  const auto valid = Build("val_dataloader: digits_val", data::Split::kValid);
  ASSERT_NE(valid, nullptr) << FormatProblems(problems_);
  const std::vector<data::Batch> first = EpochOf(*valid, 0);
  const std::vector<data::Batch> second = EpochOf(*valid, 1);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].valid, 360);
  EXPECT_TRUE(at::equal(first[0].input.tensor(), second[0].input.tensor()));
}

TEST_F(PluginTest, GivesTheSameDigitsWhateverTheNumberOfWorkers) {
  const auto recipe = [](int workers) {
    return "{train_dataloader: digits_train, dataset_params: "
           "{train_dataloader_params: {num_workers: " +
           std::to_string(workers) + "}}}";
  };
  const auto alone = Build(recipe(0), data::Split::kTrain);
  const std::vector<data::Batch> expected = EpochOf(*alone, 3);
  for (int workers : {1, 2, 7}) {
    const auto loader = Build(recipe(workers), data::Split::kTrain);
    const std::vector<data::Batch> batches = EpochOf(*loader, 3);
    ASSERT_EQ(batches.size(), expected.size());
    for (size_t i = 0; i < batches.size(); ++i) {
      EXPECT_EQ(batches[i].indices, expected[i].indices);
      EXPECT_TRUE(
          at::equal(batches[i].input.tensor(), expected[i].input.tensor()));
      EXPECT_TRUE(
          at::equal(batches[i].target.tensor(), expected[i].target.tensor()));
    }
  }
}

TEST_F(PluginTest, SaysWhereCifarIsExpected) {
  EXPECT_EQ(Build("{train_dataloader: cifar10_train}", data::Split::kTrain),
            nullptr);
  const std::string problems = FormatProblems(problems_);
  EXPECT_NE(problems.find("CIFAR-10 is not at \"./data/cifar10\": expected "
                          "data_batch_1.bin"),
            std::string::npos)
      << problems;
  EXPECT_NE(problems.find("recipes/dataset_params/cifar10_dataset_params.yaml"),
            std::string::npos)
      << problems;
}

}  // namespace
}  // namespace slipway::vision_classification
