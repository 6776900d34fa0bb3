#include "trainer/dist/prepare.h"

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/full.h"
#include "ATen/ops/mse_loss.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/dist/ranks.h"
#include "trainer/data/dataset.h"
#include "trainer/data/loader.h"
#include "trainer/dist/collectives.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/sequential.h"

namespace slipway::dist {
namespace {

using testing::Each;
using testing::HasSubstr;

using NamedState = std::vector<std::pair<std::string, OptimizerState>>;

constexpr int64_t kSamples = 24;

void Require(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

// Gradient descent; it remembers the rates of its steps.
class Descent : public Optimizer {
 public:
  explicit Descent(const nn::Module& model)
      : Optimizer(
            {{.name = "default", .parameters = model.NamedParameters()}}) {}

  absl::Status Step(const std::vector<double>& learning_rates) override {
    const at::NoGradGuard no_gradients;
    for (auto& [name, parameter] : groups_[0].parameters) {
      if (parameter.grad().defined()) {
        parameter.sub_(parameter.grad(), learning_rates[0]);
      }
    }
    rates->push_back(learning_rates[0]);
    return absl::OkStatus();
  }
  NamedState State() const override { return {}; }
  absl::Status LoadState(const NamedState& state) override {
    return state.empty() ? absl::OkStatus()
                         : absl::InvalidArgumentError("state of another");
  }

  // Also after the optimizer is gone into another.
  std::shared_ptr<std::vector<double>> rates =
      std::make_shared<std::vector<double>>();
};

// Images of one pixel: the number of the sample; the target is its half.
class Halves : public data::Dataset {
 public:
  int64_t size() const override { return kSamples; }
  absl::StatusOr<data::Sample> Get(int64_t index) const override {
    data::Sample sample;
    const double value = static_cast<double>(index) / kSamples;
    sample.image = at::full({1}, value, at::kFloat);
    sample.target = Value(at::full({1}, value / 2, at::kFloat));
    return sample;
  }
};

// Everything that a loop needs; rank `rank`'s weights are its own.
struct Training {
  explicit Training(int rank, int64_t batch_size = 4)
      : model(nn::Sequential(nn::Linear({.in = 1, .out = 1}))) {
    for (const auto& [name, tensor] : model->StateDict()) {
      const at::NoGradGuard no_gradients;
      tensor.fill_(rank + 1);
    }
    auto descent = std::make_unique<Descent>(*model);
    rates = descent->rates;
    optimizer = std::move(descent);
    data::LoaderParts parts;
    parts.dataset = std::make_unique<Halves>();
    loader = std::make_unique<data::Loader>(
        std::move(parts),
        data::LoaderOptions{.batch_size = batch_size, .shuffle = true});
  }

  double weight() const {
    return model->StateDict()[0].second.item().toDouble();
  }

  std::unique_ptr<nn::Module> model;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<data::Loader> loader;
  std::shared_ptr<std::vector<double>> rates;
};

std::unique_ptr<Ranks> PrepareAll(ProcessGroup& group, Training& training,
                                  const PrepareOptions& options = {}) {
  auto ranks = Prepare(group, *training.model, {&training.optimizer},
                       {training.loader.get()}, options);
  Require(ranks.status());
  return *std::move(ranks);
}

// A loop that knows nothing of ranks.
absl::Status PlainLoop(nn::Module& model, std::unique_ptr<Optimizer>& optimizer,
                       data::Loader& loader, int epochs,
                       std::vector<int64_t>* seen = nullptr) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const std::unique_ptr<data::Epoch> batches = loader.Begin(epoch);
    while (true) {
      const auto batch = batches->Next();
      if (!batch.ok()) return batch.status();
      if (!batch->has_value()) break;
      if (seen != nullptr) {
        seen->insert(seen->end(), (*batch)->indices.begin(),
                     (*batch)->indices.end());
      }
      optimizer->ZeroGrad();
      const at::Tensor output = model.Run((*batch)->input.tensor());
      at::mse_loss(output, (*batch)->target.tensor()).backward();
      if (absl::Status status = optimizer->Step({0.5}); !status.ok()) {
        return status;
      }
    }
  }
  return absl::OkStatus();
}

TEST(Prepare, StartsAllRanksFromTheStateOfRankZero) {
  const auto said =
      Said(RunRanks(3, [](ProcessGroup& group, std::ostream& out) {
        Training training(group.rank());
        const auto ranks = PrepareAll(group, training);
        out << training.weight() << " of " << ranks->world_size();
      }));
  EXPECT_THAT(said, Each("1 of 3"));
}

// What one process makes of batches of eight, and two of four each.
TEST(Prepare, TrainsAsOneProcessWouldOnTheWholeBatch) {
  const auto train = [](int64_t batch_size) {
    return [batch_size](ProcessGroup& group, std::ostream& out) {
      Training training(group.rank(), batch_size);
      const auto ranks = PrepareAll(group, training);
      Require(PlainLoop(*training.model, training.optimizer, *training.loader,
                        /*epochs=*/3));
      out << absl::StreamFormat("%.5f", training.weight());
    };
  };
  const std::string alone = Said(RunRanks(1, train(8)))[0];
  EXPECT_NE(alone, "1.00000");
  EXPECT_THAT(Said(RunRanks(2, train(4))), Each(alone));
}

TEST(Prepare, DealsTheSamplesOut) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        Training training(group.rank());
        const auto ranks = PrepareAll(group, training);
        std::vector<int64_t> seen;
        Require(PlainLoop(*training.model, training.optimizer, *training.loader,
                          /*epochs=*/1, &seen));
        out << seen.size() << " of ";
        std::vector<double> sums(kSamples);
        for (const int64_t index : seen) sums[index] += 1;
        Require(AllReduce(ranks->group(), absl::MakeSpan(sums)));
        out << absl::StrJoin(sums, "");
      }));
  EXPECT_THAT(said, Each("12 of " + std::string(kSamples, '1')));
}

TEST(Prepare, RaisesTheRatesAsTorchNanoDoes) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        Training training(group.rank());
        const auto ranks = PrepareAll(group, training, {.auto_lr = true});
        for (int step = 0; step < 1002; ++step) {
          Require(training.optimizer->Step({0.1}));
        }
        for (const int step : {0, 1, 4, 500, 999, 1000, 1001}) {
          out << absl::StreamFormat("%.6g ", (*training.rates)[step]);
        }
      }));
  EXPECT_THAT(said, Each("0.1 0.1001 0.1004 0.15 0.1999 0.2 0.2 "));
}

TEST(Prepare, RaisesNoRateUnlessAskedTo) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        for (const char* variable : {"", "0", "1"}) {
          setenv("SLIPWAY_AUTO_LR", variable, 1);
          Training training(group.rank());
          const auto ranks = PrepareAll(group, training, {.auto_lr_steps = 1});
          for (int i = 0; i < 2; ++i) Require(training.optimizer->Step({1}));
          out << training.rates->back();
        }
      }));
  EXPECT_THAT(said, Each("112"));
}

TEST(Prepare, CountsStepsInTheOptimizersState) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        const PrepareOptions options = {.auto_lr = true, .auto_lr_steps = 10};
        Training first(group.rank()), second(group.rank());
        const auto ranks = PrepareAll(group, first, options);
        for (int i = 0; i < 5; ++i) Require(first.optimizer->Step({1}));
        const auto again = PrepareAll(group, second, options);
        Require(second.optimizer->LoadState(first.optimizer->State()));
        Require(second.optimizer->Step({1}));
        Require(second.optimizer->LoadState({}));
        Require(second.optimizer->Step({1}));
        out << absl::StrJoin(*second.rates, " ") << " "
            << second.optimizer
                   ->LoadState({{"auto_lr", {{"epochs", at::full({}, 1)}}}})
                   .message();
      }));
  EXPECT_THAT(said, Each("1.5 1 \"auto_lr\" of an optimizer's state is no "
                         "number of steps"));
}

TEST(Prepare, MakesBuffersOneInEachStep) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        for (const BufferPolicy policy :
             {BufferPolicy::kReduce, BufferPolicy::kBroadcast}) {
          Training training(group.rank());
          training.model = nn::Sequential(nn::BatchNorm2d(1));
          const auto ranks = PrepareAll(group, training, {.buffers = policy});
          const at::Tensor mean = training.model->NamedBuffers()[0].second;
          mean.fill_(10 * group.rank());
          Require(training.optimizer->Step({0}));
          out << mean.item().toDouble() << " ";
        }
      }));
  EXPECT_THAT(said, Each("5 0 "));
}

TEST(Prepare, TellsTheLauncherOfEachStep) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ProcessGroup alone({.heartbeat_fd = ends[1]});
  Training training(0);
  const auto ranks = PrepareAll(alone, training);
  for (int i = 0; i < 3; ++i) Require(training.optimizer->Step({0}));
  char beats[8];
  EXPECT_EQ(read(ends[0], beats, sizeof(beats)), 3);
  close(ends[0]);
  close(ends[1]);
}

TEST(Prepare, NamesWhatIsNotTheSameOnAllRanks) {
  const auto said =
      Said(RunRanks(3, [](ProcessGroup& group, std::ostream& out) {
        Training training(group.rank(), group.rank() == 2 ? 8 : 4);
        out << Prepare(group, *training.model, {&training.optimizer},
                       {training.loader.get()})
                   .status()
                   .message();
      }));
  EXPECT_THAT(said, Each("the ranks do not train the same: on rank 0 a loader "
                         "has 24 samples, batch_size 4, seed 0, shuffled, on "
                         "rank 2 a loader has 24 samples, batch_size 8, seed "
                         "0, shuffled"));
}

TEST(Prepare, ThrowsTheLossOfARankOutOfBackward) {
  const std::vector<Ended> ranks =
      RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        Training training(group.rank());
        const auto prepared = PrepareAll(group, training);
        if (group.rank() == 1) throw std::runtime_error("no more");
        Require(PlainLoop(*training.model, training.optimizer, *training.loader,
                          /*epochs=*/1));
      });
  EXPECT_EQ(ranks[0].exit_code, 1);
  EXPECT_THAT(ranks[0].said, HasSubstr("rank 1"));
}

TEST(Prepare, ChangesNothingInAWorldOfOne) {
  Training training(6), plain(6);
  const auto ranks = Prepare(*training.model, {&training.optimizer},
                             {training.loader.get()}, {.auto_lr = true});
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  EXPECT_EQ((*ranks)->world_size(), 1);
  EXPECT_EQ(training.weight(), 7);
  for (Training* one : {&training, &plain}) {
    ASSERT_TRUE(PlainLoop(*one->model, one->optimizer, *one->loader, 2).ok());
  }
  EXPECT_EQ(training.weight(), plain.weight());
  EXPECT_EQ(*training.rates, *plain.rates);
}

TEST(Prepare, RefusesAnEnvironmentThatMakesNoSense) {
  setenv("WORLD_SIZE", "2", 1);
  Training training(0);
  const auto ranks =
      Prepare(*training.model, {&training.optimizer}, {training.loader.get()});
  unsetenv("WORLD_SIZE");
  EXPECT_TRUE(absl::IsInvalidArgument(ranks.status()));
  EXPECT_THAT(std::string(ranks.status().message()), HasSubstr("RANK"));
}

TEST(Wrap, PreparesWhatItFindsAmongTheArguments) {
  Training training(0);
  std::vector<int64_t> seen;
  const absl::Status status = Wrap(PlainLoop)(
      *training.model, training.optimizer, *training.loader, 2, &seen);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(seen.size(), 2 * kSamples);
  EXPECT_EQ(training.optimizer->State()[0].first, "auto_lr");
}

TEST(Wrap, HandsTheLoopsErrorOn) {
  Training training(0);
  const absl::Status status =
      Wrap([](nn::Module& model, std::unique_ptr<Optimizer>& optimizer) {
        return absl::DataLossError("none left");
      })(*training.model, training.optimizer);
  EXPECT_EQ(status, absl::DataLossError("none left"));
}

}  // namespace
}  // namespace slipway::dist
