// A program of one's own on several ranks.
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "ATen/ops/scalar_tensor.h"
#include "ATen/ops/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/dist/ranks.h"
#include "trainer/api.h"
#include "trainer/nn/layers/linear.h"

namespace slipway {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

class Points : public data::Dataset {
 public:
  int64_t size() const override { return 64; }
  absl::StatusOr<data::Sample> Get(int64_t index) const override {
    data::Rng rng(/*seed=*/1, /*epoch=*/0, index);
    const double x = rng.Uniform(-1, 1), y = rng.Uniform(-1, 1);
    data::Sample sample;
    sample.image = at::tensor({x, y}, at::kFloat);
    sample.target = at::scalar_tensor(x > y ? 1 : 0, at::kLong);
    return sample;
  }
};

std::unique_ptr<data::Loader> Batches(const dist::ProcessGroup& group) {
  data::LoaderParts parts;
  parts.dataset = std::make_unique<Points>();
  data::LoaderOptions options;
  options.batch_size = 8;
  options.rank = group.rank();
  options.world_size = group.world_size();
  return std::make_unique<data::Loader>(std::move(parts), options);
}

TrainRequest Request(const dist::ProcessGroup& group) {
  TrainRequest request;
  request.model = nn::Linear({.in = 2, .out = 2});
  request.train_loader = Batches(group);
  request.valid_loader = Batches(group);
  request.training_hyperparams = {{"max_epochs", 2},
                                  {"initial_lr", 0.1},
                                  {"loss", "CrossEntropyLoss"},
                                  {"valid_metrics_list", {"Accuracy"}}};
  return request;
}

TEST(Api, TrainsOneModelOnSeveralRanks) {
  const std::string root = testing::TempDir() + "/api_ranks";
  std::filesystem::remove_all(root);
  const auto said =
      Said(RunRanks(2, [&](dist::ProcessGroup& group, std::ostream& out) {
        TrainerSettings settings;
        settings.ckpt_root_dir = root;
        settings.console = false;
        settings.group = &group;
        Trainer trainer("ranks", settings);
        const auto result = trainer.Train(Request(group));
        if (!result.ok()) throw std::runtime_error(result.status().ToString());
        out << result->exit_code << " " << result->samples << " "
            << result->best->value;
        for (const auto& [name, tensor] : trainer.model()->StateDict()) {
          out << " " << tensor.sum().item().toDouble();
        }
      }));
  EXPECT_EQ(said[0], said[1]);
  EXPECT_THAT(said[0], HasSubstr("0 128 "));
  int runs = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(root + "/ranks")) {
    if (!entry.is_symlink()) ++runs;
  }
  EXPECT_EQ(runs, 1);
}

TEST(Api, RefusesOnAllRanksWhatOneRefuses) {
  const auto said =
      Said(RunRanks(2, [&](dist::ProcessGroup& group, std::ostream& out) {
        TrainerSettings settings;
        settings.ckpt_root_dir = "";
        settings.console = false;
        settings.group = &group;
        TrainRequest request = Request(group);
        if (group.rank() == 1) request.train_loader = nullptr;
        Trainer trainer("ranks", settings);
        out << trainer.Train(std::move(request)).status();
      }));
  EXPECT_THAT(said, Each(AllOf(HasSubstr("INVALID_ARGUMENT"),
                               HasSubstr("the request has no train_loader"))));
}

}  // namespace
}  // namespace slipway
