#include "trainer/data/loader.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ATen/ops/equal.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"
#include "trainer/data/dataset.h"
#include "trainer/data/numbers.h"
#include "trainer/recipe/node.h"

namespace slipway::data {
namespace {

using Indices = std::vector<int64_t>;

// What an epoch gives until its end or its first error.
struct Pass {
  std::vector<Batch> batches;
  absl::Status status;
  std::vector<std::string> skipped;
};

Pass RunEpoch(Loader& loader, int64_t epoch = 0, int64_t first_batch = 0) {
  Pass pass;
  const std::unique_ptr<Epoch> batches = loader.Begin(epoch, first_batch);
  while (true) {
    absl::StatusOr<std::optional<Batch>> batch = batches->Next();
    pass.status = batch.status();
    if (!batch.ok() || !batch->has_value()) break;
    pass.batches.push_back(**std::move(batch));
  }
  EXPECT_FALSE(batches->Next().value_or(std::nullopt).has_value())
      << "the epoch goes on after its end";
  pass.skipped = batches->SkippedSamples();
  return pass;
}

Indices AllIndices(const Pass& pass) {
  Indices all;
  for (const Batch& batch : pass.batches) {
    all.insert(all.end(), batch.indices.begin(), batch.indices.end());
  }
  return all;
}

void ExpectSame(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.indices, b.indices);
  EXPECT_EQ(a.valid, b.valid);
  EXPECT_TRUE(at::equal(a.input.tensor(), b.input.tensor()));
  EXPECT_TRUE(at::equal(a.target.tensor(), b.target.tensor()));
}

void ExpectSame(const Pass& a, const Pass& b) {
  ASSERT_EQ(a.batches.size(), b.batches.size());
  for (size_t i = 0; i < a.batches.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectSame(a.batches[i], b.batches[i]);
  }
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.skipped, b.skipped);
}

Loader NoisyLoader(const LoaderOptions& options) {
  LoaderParts parts = NumberParts(53);
  parts.transforms.push_back(std::make_unique<Noise>());
  parts.transform_names = {"Noise"};
  return Loader(std::move(parts), options);
}

// Everything below holds for each number of workers.
class LoaderTest : public testing::TestWithParam<int> {
 protected:
  LoaderOptions Options(int64_t batch_size) const {
    return {.batch_size = batch_size, .num_workers = GetParam(), .seed = 42};
  }
};

INSTANTIATE_TEST_SUITE_P(Workers, LoaderTest, testing::Values(0, 1, 2, 7),
                         testing::PrintToStringParamName());

TEST_P(LoaderTest, GivesEverySampleOnceInOrder) {
  Loader loader(NumberParts(10), Options(4));
  EXPECT_EQ(loader.size(), 3);
  const Pass pass = RunEpoch(loader);
  ASSERT_TRUE(pass.status.ok()) << pass.status;
  ASSERT_EQ(pass.batches.size(), 3u);
  EXPECT_EQ(pass.batches[0].indices, (Indices{0, 1, 2, 3}));
  EXPECT_EQ(pass.batches[2].indices, (Indices{8, 9}));
  EXPECT_EQ(pass.batches[2].valid, 2);
  EXPECT_EQ(pass.batches[1].input.ShapeString(), "float[4, 1, 2, 2]");
  for (const Batch& batch : pass.batches) {
    for (int64_t i = 0; i < batch.size(); ++i) {
      EXPECT_EQ(batch.target.tensor()[i].item<int64_t>(), batch.indices[i]);
      EXPECT_EQ(batch.input.tensor()[i].max().item<double>(), batch.indices[i]);
    }
  }
}

TEST_P(LoaderTest, DropsAShortLastBatchIfAsked) {
  LoaderOptions options = Options(4);
  options.drop_last = true;
  Loader loader(NumberParts(10), options);
  EXPECT_EQ(loader.size(), 2);
  EXPECT_EQ(AllIndices(RunEpoch(loader)), (Indices{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_P(LoaderTest, GivesTheSameBatchesWhateverTheNumberOfWorkers) {
  LoaderOptions options = Options(4);
  options.shuffle = true;
  Loader loader = NoisyLoader(options);
  options.num_workers = 0;
  Loader alone = NoisyLoader(options);
  const Pass first = RunEpoch(loader, 0);
  ExpectSame(first, RunEpoch(alone, 0));
  ExpectSame(RunEpoch(loader, 1), RunEpoch(alone, 1));
  ExpectSame(RunEpoch(loader, 0), first);
  EXPECT_NE(AllIndices(RunEpoch(loader, 1)), AllIndices(first));
}

TEST_P(LoaderTest, ContinuesAnEpochAsIfItHadNotStopped) {
  LoaderOptions options = Options(4);
  options.shuffle = true;
  Loader loader = NoisyLoader(options);
  Pass whole = RunEpoch(loader, 3);
  const Pass rest = RunEpoch(loader, 3, 5);
  whole.batches.erase(whole.batches.begin(), whole.batches.begin() + 5);
  ExpectSame(rest, whole);
  EXPECT_TRUE(RunEpoch(loader, 3, loader.size()).batches.empty());
}

TEST_P(LoaderTest, DealsTheSamplesOutToRanks) {
  std::multiset<int64_t> valid;
  for (int rank = 0; rank < 3; ++rank) {
    LoaderOptions options = Options(2);
    options.shuffle = true;
    options.evaluation = true;
    options.rank = rank;
    options.world_size = 3;
    Loader loader(NumberParts(10), options);
    const Pass pass = RunEpoch(loader);
    EXPECT_EQ(pass.batches.size(), 2u);
    EXPECT_EQ(AllIndices(pass).size(), rank == 0 ? 4u : 3u);
    for (const Batch& batch : pass.batches) {
      valid.insert(batch.indices.begin(), batch.indices.begin() + batch.valid);
    }
  }
  const Indices all = SequentialSampler(10)->Order(0);
  EXPECT_EQ(valid, std::multiset<int64_t>(all.begin(), all.end()));
}

TEST_P(LoaderTest, GivesARankWithoutSamplesABatchThatDoesNotCount) {
  LoaderOptions options = Options(3);
  options.evaluation = true;
  options.rank = 2;
  options.world_size = 3;
  Loader loader(NumberParts(2), options);
  const Pass pass = RunEpoch(loader);
  ASSERT_EQ(pass.batches.size(), 1u);
  EXPECT_EQ(pass.batches[0].indices, (Indices{0}));
  EXPECT_EQ(pass.batches[0].valid, 0);
}

TEST_P(LoaderTest, IsReadyOnceTheNextBatchIsMade) {
  Loader loader(NumberParts(10), Options(4));
  const std::unique_ptr<Epoch> epoch = loader.Begin(0);
  for (int64_t batch = 0; batch < loader.size(); ++batch) {
    while (!epoch->Ready()) std::this_thread::yield();
    ASSERT_TRUE(epoch->Next().ok());
  }
  EXPECT_TRUE(epoch->Ready());
}

TEST_P(LoaderTest, CountsRepeatedSamplesOfATrainingAsValid) {
  LoaderOptions options = Options(4);
  options.rank = 2;
  options.world_size = 3;
  Loader loader(NumberParts(10), options);
  const Pass pass = RunEpoch(loader);
  ASSERT_EQ(pass.batches.size(), 1u);
  EXPECT_EQ(pass.batches[0].indices, (Indices{2, 5, 8, 1}));
  EXPECT_EQ(pass.batches[0].valid, 4);
}

TEST_P(LoaderTest, RefusesToDealSamplesOutAnewWithinAnEpoch) {
  LoaderOptions options = Options(2);
  options.shuffle = true;
  Loader loader(NumberParts(10), options);
  const std::unique_ptr<Epoch> alone = loader.Begin(0);
  EXPECT_EQ(loader.Reshard(1, 3),
            absl::FailedPreconditionError("the ranks of a loader change "
                                          "between epochs only, and one is "
                                          "on"));
  EXPECT_EQ(loader.size(), 5);
}

TEST_P(LoaderTest, GivesWhatALoaderOfThatRankWouldAfterResharding) {
  LoaderOptions options = Options(2);
  options.shuffle = true;
  Loader loader(NumberParts(10), options);
  RunEpoch(loader, 0);
  ASSERT_TRUE(loader.Reshard(1, 3).ok());
  EXPECT_EQ(loader.Reshard(3, 3),
            absl::InvalidArgumentError("rank 3 of world size 3 does not "
                                       "exist"));
  options.rank = 1;
  options.world_size = 3;
  Loader made(NumberParts(10), options);
  EXPECT_EQ(loader.size(), made.size());
  ExpectSame(RunEpoch(loader, 1), RunEpoch(made, 1));
}

absl::Status FailAtSix(int64_t index) {
  if (index != 6) return absl::OkStatus();
  return absl::NotFoundError("cannot read \"images/6.png\"");
}

TEST_P(LoaderTest, EndsAtASampleThatFailsAndNamesIt) {
  Loader loader(NumberParts(20, FailAtSix), Options(4));
  const Pass pass = RunEpoch(loader);
  EXPECT_EQ(AllIndices(pass), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(pass.status,
            absl::NotFoundError("sample 6: cannot read \"images/6.png\""));
}

TEST_P(LoaderTest, LeavesBadSamplesOutIfAsked) {
  LoaderOptions options = Options(4);
  options.on_bad_sample = LoaderOptions::OnBadSample::kSkip;
  Loader loader(NumberParts(10, FailAtSix), options);
  const Pass pass = RunEpoch(loader);
  ASSERT_TRUE(pass.status.ok()) << pass.status;
  EXPECT_EQ(AllIndices(pass), (Indices{0, 1, 2, 3, 4, 5, 7, 4, 8, 9}));
  const Batch& batch = pass.batches[1];
  EXPECT_EQ(batch.valid, 3);
  EXPECT_EQ(batch.input.tensor()[2].max().item<double>(), 7);
  EXPECT_EQ(batch.input.tensor()[3].max().item<double>(), 4);
  EXPECT_EQ(batch.target.tensor()[3].item<int64_t>(), 4);
  EXPECT_EQ(pass.skipped,
            std::vector<std::string>{"sample 6: cannot read \"images/6.png\""});
}

TEST_P(LoaderTest, EndsAtABatchWithNoGoodSample) {
  LoaderOptions options = Options(2);
  options.on_bad_sample = LoaderOptions::OnBadSample::kSkip;
  Loader loader(
      NumberParts(4,
                  [](int64_t) { return absl::DataLossError("is cut short"); }),
      options);
  const Pass pass = RunEpoch(loader);
  EXPECT_EQ(pass.status, absl::DataLossError("sample 0: is cut short"));
  EXPECT_EQ(pass.skipped, (std::vector<std::string>{"sample 0: is cut short",
                                                    "sample 1: is cut short"}));
}

// Fails as transforms do: with a Status, by ATen, or by the library.
class Failing : public Transform {
 public:
  enum class Way { kStatus, kTorch, kStandard, kOther };
  explicit Failing(Way way) : way_(way) {}

  absl::Status Apply(Sample& sample, const Dataset&, Rng&) const override {
    if (way_ == Way::kTorch) sample.image.narrow(0, 7, 1);
    if (way_ == Way::kStandard) throw std::runtime_error("is out of paper");
    if (way_ == Way::kOther) throw 7;
    return absl::InvalidArgumentError("size 9 is larger than the image");
  }

 private:
  const Way way_;
};

TEST_P(LoaderTest, NamesTheTransformThatFails) {
  struct Case {
    Failing::Way way;
    absl::StatusCode code;
    const char* message;
  };
  const Case cases[] = {
      {Failing::Way::kStatus, absl::StatusCode::kInvalidArgument,
       "sample 0: transform Cut: size 9 is larger than the image"},
      {Failing::Way::kTorch, absl::StatusCode::kInternal,
       "sample 0: transform Cut: "},
      {Failing::Way::kStandard, absl::StatusCode::kInternal,
       "sample 0: transform Cut: std::runtime_error: is out of paper"},
      {Failing::Way::kOther, absl::StatusCode::kInternal,
       "sample 0: transform Cut: threw a value of type int"},
  };
  for (const Case& c : cases) {
    LoaderParts parts = NumberParts(4);
    parts.transforms.push_back(std::make_unique<Noise>());
    parts.transforms.push_back(std::make_unique<Failing>(c.way));
    parts.transform_names = {"Noise", "Cut"};
    Loader loader(std::move(parts), Options(4));
    const Pass pass = RunEpoch(loader);
    EXPECT_EQ(pass.status.code(), c.code);
    EXPECT_TRUE(std::string(pass.status.message()).starts_with(c.message))
        << pass.status;
  }
}

class Widening : public Transform {
 public:
  absl::Status Apply(Sample& sample, const Dataset&, Rng&) const override {
    if (sample.target.tensor().item<int64_t>() == 5) {
      sample.image = at::zeros({1, 2, 3});
    }
    return absl::OkStatus();
  }
};

TEST_P(LoaderTest, NamesTheBatchThatCannotBeJoined) {
  LoaderParts parts = NumberParts(8);
  parts.transforms.push_back(std::make_unique<Widening>());
  Loader loader(std::move(parts), Options(4));
  EXPECT_EQ(RunEpoch(loader).status.message(),
            "batch 1: sample 5: its image is float[1, 2, 3], but that of "
            "sample 4 is float[1, 2, 2]; crop, pad or resize them to one size");
}

class Fixed : public Sampler {
 public:
  explicit Fixed(Indices order) : order_(std::move(order)) {}
  int64_t size() const override { return order_.size(); }
  Indices Order(int64_t) const override { return order_; }

 private:
  const Indices order_;
};

TEST_P(LoaderTest, RefusesASampleThatDoesNotExist) {
  LoaderParts parts = NumberParts(4);
  parts.sampler = std::make_unique<Fixed>(Indices{0, 4});
  Loader loader(std::move(parts), Options(2));
  EXPECT_EQ(RunEpoch(loader).status.message(),
            "the sampler asks for sample 4, but the data set has 4");
}

TEST_P(LoaderTest, AugmentsASampleThatIsShownTwiceInTwoWays) {
  LoaderParts parts = NumberParts(4);
  parts.sampler = std::make_unique<Fixed>(Indices{3, 3});
  parts.transforms.push_back(std::make_unique<Noise>());
  Loader loader(std::move(parts), Options(2));
  const Pass pass = RunEpoch(loader);
  ASSERT_EQ(pass.batches.size(), 1u);
  const at::Tensor& images = pass.batches[0].input.tensor();
  EXPECT_FALSE(at::equal(images[0], images[1]));
}

// Its batch is the number that its generator draws first.
class Drawing : public Collate {
 public:
  absl::Status Join(std::vector<Sample>&, Batch& batch,
                    Rng& rng) const override {
    batch.input = Value(at::full({}, rng.Uniform()));
    return absl::OkStatus();
  }
};

TEST_P(LoaderTest, GivesEachBatchOfEachRankRandomNumbersOfItsOwn) {
  std::set<double> drawn;
  for (int rank = 0; rank < 2; ++rank) {
    LoaderParts parts = NumberParts(16);
    parts.collate = std::make_unique<Drawing>();
    LoaderOptions options = Options(2);
    options.rank = rank;
    options.world_size = 2;
    Loader loader(std::move(parts), options);
    for (const Batch& batch : RunEpoch(loader).batches) {
      drawn.insert(batch.input.tensor().item<double>());
    }
  }
  EXPECT_EQ(drawn.size(), 8u);
}

TEST_P(LoaderTest, TakesParametersOfItsPartsBetweenEpochs) {
  Loader loader = NoisyLoader(Options(4));
  const recipe::Node none = recipe::Node::Float(0);
  ASSERT_TRUE(loader.Set("transform.Noise", "scale", none).ok());
  const Pass pass = RunEpoch(loader);
  ASSERT_FALSE(pass.batches.empty());
  EXPECT_EQ(pass.batches[1].input.tensor()[0].max().item<double>(), 4);
  EXPECT_TRUE(loader.Set("transform.0", "scale", none).ok());

  const std::unique_ptr<Epoch> epoch = loader.Begin(1);
  EXPECT_EQ(loader.Set("transform.0", "scale", none).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(Loader, NamesItsPartsWhereOneIsNotFound) {
  Loader loader = NoisyLoader({});
  const recipe::Node value = recipe::Node::Int(1);
  EXPECT_EQ(loader.Set("transform.Noisy", "scale", value),
            absl::NotFoundError("the loader has no part \"transform.Noisy\", "
                                "but collate, sampler, transform.0, "
                                "transform.Noise"));
  EXPECT_EQ(loader.Set("transform.Noise", "scales", value),
            absl::NotFoundError("there is no parameter \"scales\" to set"));
  EXPECT_EQ(loader.Set("collate", "alpha", value),
            absl::NotFoundError("there is no parameter \"alpha\" to set"));
}

TEST(Loader, RefusesOptionsThatMakeNoSense) {
  struct Case {
    LoaderOptions options;
    const char* message;
  };
  const Case cases[] = {
      {{.batch_size = 0}, "batch_size is 0, expected at least 1"},
      {{.rank = 2, .world_size = 2}, "rank 2 of world size 2 does not exist"},
      {{.rank = -1}, "rank -1 of world size 1 does not exist"},
  };
  for (const Case& c : cases) {
    Loader loader(NumberParts(4), c.options);
    EXPECT_EQ(loader.size(), 0);
    EXPECT_EQ(RunEpoch(loader).status, absl::InvalidArgumentError(c.message));
  }
}

TEST(Loader, HasNoBatchOfAnEmptyDataSet) {
  Loader loader(NumberParts(0), {.batch_size = 4, .num_workers = 2});
  EXPECT_EQ(loader.size(), 0);
  const Pass pass = RunEpoch(loader);
  EXPECT_TRUE(pass.status.ok());
  EXPECT_TRUE(pass.batches.empty());
}

}  // namespace
}  // namespace slipway::data
