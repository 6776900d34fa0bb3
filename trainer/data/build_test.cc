#include "trainer/data/build.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "trainer/data/numbers.h"
#include "trainer/recipe/params.h"
#include "trainer/recipe/yaml.h"

namespace slipway::data {
namespace {

recipe::Node Yaml(const std::string& text, const std::string& file = "r.yaml") {
  Problems problems;
  return recipe::ParseYaml(text, file, problems).value();
}

std::unique_ptr<Dataset> BuildNumbers(const BuildArgs& args) {
  recipe::Params params(args.params, "data set Numbers", args.problems);
  const int64_t count = params.Int("count", {.min = 0});
  params.Finish();
  if (HasErrors(args.problems)) return nullptr;
  return std::make_unique<Numbers>(count);
}

std::unique_ptr<Transform> BuildNoise(const BuildArgs& args) {
  recipe::Params params(args.params, "transform Noise", args.problems);
  auto noise = std::make_unique<Noise>();
  const recipe::Node scale =
      recipe::Node::Float(params.Double("scale", {.fallback = 0.5}));
  params.Finish();
  if (HasErrors(args.problems) || !noise->Set("scale", scale).ok()) {
    return nullptr;
  }
  return noise;
}

// The last sample first.
class Backwards : public Sampler {
 public:
  explicit Backwards(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  std::vector<int64_t> Order(int64_t) const override {
    std::vector<int64_t> order = SequentialSampler(size_)->Order(0);
    std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  const int64_t size_;
};

// Loses the images.
class TargetsOnly : public Collate {
 public:
  absl::Status Join(std::vector<Sample>&, Batch& batch, Rng&) const override {
    batch.input = Value(Value::Map{});
    return absl::OkStatus();
  }
};

class BuildTest : public testing::Test {
 protected:
  BuildTest() {
    components_.datasets.Add(
        "numbers_train",
        {.create = BuildNumbers,
         .dataset_defaults = Yaml(
             "{count: 10, transforms: [{Noise: {scale: 0}}]}", "defaults.yaml"),
         .loader_defaults =
             Yaml("{batch_size: 4, num_workers: 2}", "defaults.yaml")});
    components_.datasets.Add("Numbers", {.create = BuildNumbers});
    components_.transforms.Add("Noise", BuildNoise);
    components_.collates.Add("TargetsOnly", [](const BuildArgs&) {
      return std::make_unique<TargetsOnly>();
    });
    components_.samplers.Add("Backwards", [](const BuildArgs&, int64_t size) {
      return std::make_unique<Backwards>(size);
    });
  }

  std::unique_ptr<Loader> Build(const std::string& yaml,
                                Split split = Split::kTrain,
                                const LoaderWorld& world = {}) {
    problems_.clear();
    return BuildLoader(Yaml(yaml), split, components_, world, problems_);
  }

  std::unique_ptr<Loader> BuildGood(const std::string& yaml,
                                    Split split = Split::kTrain,
                                    const LoaderWorld& world = {}) {
    std::unique_ptr<Loader> loader = Build(yaml, split, world);
    EXPECT_NE(loader, nullptr) << FormatProblems(problems_);
    return loader;
  }

  Components components_;
  Problems problems_;
};

Batch FirstBatch(Loader& loader) {
  return loader.Begin(0)->Next().value().value();
}

TEST_F(BuildTest, TakesWhatTheRecipeLeavesOutFromTheDataSet) {
  const auto loader = BuildGood("train_dataloader: numbers_train");
  EXPECT_EQ(loader->dataset().size(), 10);
  EXPECT_EQ(loader->options().batch_size, 4);
  EXPECT_EQ(loader->options().num_workers, 2);
  EXPECT_FALSE(loader->options().shuffle);
  EXPECT_FALSE(loader->options().evaluation);
  const Batch batch = FirstBatch(*loader);
  EXPECT_EQ(batch.indices, (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(batch.input.tensor()[3].max().item<double>(), 3);
  EXPECT_TRUE(problems_.empty());
}

TEST_F(BuildTest, LaysTheRecipeOverThoseDefaults) {
  const auto loader = BuildGood(R"(
train_dataloader: numbers_train
dataset_params:
  train_dataset_params:
    count: 7
    transforms: [Noise]
    on_bad_sample: skip
    target_transform: null
  train_dataloader_params:
    batch_size: 5
    num_workers: null
    shuffle: True
    drop_last: True
    prefetch_factor: 3
    worker_init_fn: {_target_: some.function, dotpath: x}
)",
                                Split::kTrain, {.seed = 9});
  EXPECT_EQ(loader->dataset().size(), 7);
  EXPECT_EQ(loader->options().batch_size, 5);
  EXPECT_EQ(loader->options().num_workers, 2);
  EXPECT_EQ(loader->options().prefetch, 6);
  EXPECT_TRUE(loader->options().shuffle);
  EXPECT_EQ(loader->size(), 1);
  EXPECT_EQ(loader->options().on_bad_sample, LoaderOptions::OnBadSample::kSkip);
  const Batch batch = FirstBatch(*loader);
  EXPECT_EQ(batch.indices[0], ShuffleSampler(7, 9)->Order(0)[0]);
  EXPECT_NE(batch.input.tensor()[0].max().item<double>(), batch.indices[0])
      << "the recipe's transform is not there";
}

TEST_F(BuildTest, FindsADataSetByItsClass) {
  const auto loader = BuildGood(R"(
val_dataloader: null
dataset_params:
  val_dataset_params: {count: 3, transforms: null}
  val_dataloader_params: {dataset: Numbers, num_workers: 8}
)",
                                Split::kValid, {.rank = 1, .world_size = 2});
  EXPECT_TRUE(loader->options().evaluation);
  EXPECT_EQ(loader->options().rank, 1);
  EXPECT_EQ(loader->options().world_size, 2);
  EXPECT_EQ(loader->options().num_workers, 3) << "more workers than samples";
  EXPECT_EQ(loader->options().batch_size, 1);
  EXPECT_EQ(loader->size(), 2);
}

TEST_F(BuildTest, NamesWhetherThereIsData) {
  const recipe::Node recipe = Yaml(R"(
train_dataloader: x
dataset_params: {test_dataloader_params: {dataset: Numbers}}
)");
  EXPECT_TRUE(NamesLoader(recipe, Split::kTrain));
  EXPECT_FALSE(NamesLoader(recipe, Split::kValid));
  EXPECT_TRUE(NamesLoader(recipe, Split::kTest));
}

TEST_F(BuildTest, TakesASamplerAndACollateOfAPlugin) {
  const auto loader = BuildGood(R"(
train_dataloader: numbers_train
dataset_params:
  train_dataloader_params:
    sampler: {Backwards: {}}
    collate_fn: {_target_: some.module.TargetsOnly}
)");
  const Batch batch = FirstBatch(*loader);
  EXPECT_EQ(batch.indices, (std::vector<int64_t>{9, 8, 7, 6}));
  EXPECT_TRUE(batch.input.is_map());
}

TEST_F(BuildTest, RepeatsSamplesUntilThereAreEnough) {
  const auto loader = BuildGood(R"(
train_dataloader: numbers_train
dataset_params: {train_dataloader_params: {min_samples: 25, batch_size: 5}}
)");
  EXPECT_EQ(loader->size(), 5);
  const auto enough = BuildGood(R"(
train_dataloader: numbers_train
dataset_params: {train_dataloader_params: {min_samples: 7, batch_size: 5}}
)");
  EXPECT_EQ(enough->size(), 2);
}

TEST_F(BuildTest, NotesThatNothingIsPinned) {
  BuildGood(R"(
train_dataloader: numbers_train
dataset_params: {train_dataloader_params: {pin_memory: True}}
)");
  EXPECT_EQ(FormatProblems(problems_),
            R"(note: "pin_memory" has no effect: batches are not pinned
  where:  r.yaml:3:56
)");
}

TEST_F(BuildTest, ReportsAllThatIsWrong) {
  EXPECT_EQ(Build(R"(
train_dataloader: numbers_train
dataset_params:
  train_dataset_params:
    cuont: 7
    transforms: [Nose, {Noise: {scale: loud}}]
    on_bad_sample: ignore
    target_transform: Noise
  train_dataloader_params:
    batch_sise: 5
    batch_size: 0
    num_workers: -1
    collate_fn: TargetOnly
    sampler: Forwards
    min_samples: 3
)"),
            nullptr);
  EXPECT_EQ(FormatProblems(problems_), R"(error: there are no target transforms
  where:  r.yaml:8:23
  hint:   transforms see the target too
error: there is no transform "Nose"
  where:  r.yaml:6:18
  hint:   did you mean "Noise"?
error: "scale" of transform Noise is "loud"
  detail: expected a number, found text "loud"
  where:  r.yaml:6:40
error: "on_bad_sample" of train_dataset_params is "ignore"
  detail: expected one of error, skip, found text "ignore"
  where:  r.yaml:7:20
error: unknown parameter "cuont" of data set Numbers
  where:  r.yaml:5:5
  hint:   did you mean "count"?
error: "batch_size" of train_dataloader_params is 0
  detail: expected an integer of at least 1, found integer 0
  where:  r.yaml:11:17
error: "num_workers" of train_dataloader_params is -1
  detail: expected an integer from 0 to 4096, found integer -1
  where:  r.yaml:12:18
error: there is no collate_fn "TargetOnly"
  where:  r.yaml:13:17
  hint:   did you mean "TargetsOnly"?
error: "min_samples" and "sampler" exclude each other
  where:  r.yaml:15:18
error: there is no sampler "Forwards"
  where:  r.yaml:14:14
  hint:   known are Backwards
error: unknown key "batch_sise" of train_dataloader_params
  where:  r.yaml:10:5
  hint:   did you mean "batch_size"?
)");
}

TEST_F(BuildTest, ReportsDataThatIsNotThere) {
  struct Case {
    const char* recipe;
    const char* problems;
  };
  const Case cases[] = {
      {"train_dataloader: numbers_trian",
       R"(error: there is no data set "numbers_trian"
  where:  r.yaml:1:19
  hint:   did you mean "numbers_train"?
)"},
      {"val_dataloader: numbers_train",
       R"(error: the recipe has no "train_dataloader"
  hint:   known are numbers_train, Numbers
)"},
      {"train_dataloader: 7",
       R"(error: a data set is 7
  detail: expected Name, or Name: {its parameters}
  where:  r.yaml:1:19
)"},
      {"{train_dataloader: Numbers, dataset_params: {train_dataset_params: "
       "[1]}}",
       R"(error: "dataset_params.train_dataset_params" is [1]
  detail: expected a map
  where:  r.yaml:1:68
error: data set Numbers needs a value for "count"
)"},
      {"{train_dataloader: Numbers, dataset_params: {train_dataset_params: "
       "{count: 0}}}",
       R"(error: data set "Numbers" has no samples
)"},
      {"{train_dataloader: numbers_train, dataset_params: "
       "{train_dataloader_params: {drop_last: on, batch_size: 6}}}",
       R"(error: data set "numbers_train" has no batch
  detail: found 10 samples, expected a batch_size of 6 for each of 2 ranks, as drop_last is set
  where:  r.yaml:1:105
  hint:   lower batch_size, or set drop_last to False
)"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Build(c.recipe, Split::kTrain, {.world_size = 2}), nullptr);
    EXPECT_EQ(FormatProblems(problems_), c.problems);
  }
}

}  // namespace
}  // namespace slipway::data
