#include "trainer/api.h"

#include <filesystem>

#include "ATen/ops/scalar_tensor.h"
#include "ATen/ops/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/nn/layers/linear.h"

namespace slipway {
namespace {

using testing::HasSubstr;

class Points : public data::Dataset {
 public:
  int64_t size() const override { return 64; }
  absl::StatusOr<data::Sample> Get(int64_t index) const override {
    data::Rng rng(1, 0, index);
    const double x = rng.Uniform(-1, 1), y = rng.Uniform(-1, 1);
    data::Sample sample;
    sample.image = at::tensor({x, y}, at::kFloat);
    sample.target = at::scalar_tensor(x > y ? 1 : 0, at::kLong);
    return sample;
  }
};

std::unique_ptr<data::Loader> Batches() {
  data::LoaderParts parts;
  parts.dataset = std::make_unique<Points>();
  data::LoaderOptions options;
  options.batch_size = 16;
  return std::make_unique<data::Loader>(std::move(parts), options);
}

TrainRequest Request() {
  TrainRequest request;
  request.model = nn::Linear({.in = 2, .out = 2});
  request.train_loader = Batches();
  request.training_hyperparams = {
      {"max_epochs", 2}, {"initial_lr", 0.5}, {"loss", "CrossEntropyLoss"}};
  return request;
}

TrainerSettings Quiet() {
  TrainerSettings settings;
  settings.console = false;
  settings.ckpt_root_dir = "";
  return settings;
}

std::string Refusal(TrainRequest request) {
  const absl::StatusOr<RunResult> result =
      Trainer("test", Quiet()).Train(std::move(request));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(result.status().message());
}

// Counts what it is told.
class Counter : public Reporter {
 public:
  explicit Counter(int& steps) : steps_(steps) {}
  absl::Status OnStep(const StepReport&) override {
    ++steps_;
    return absl::OkStatus();
  }

 private:
  int& steps_;
};

class StopsAtOnce : public Plugin {
 public:
  absl::Status AfterOptimizer(StepContext& context) override {
    context.control().RequestStop("seen enough");
    return absl::OkStatus();
  }
};

TEST(Trainer, TrainsAModelWithoutARecipe) {
  Trainer trainer("test", Quiet());
  const absl::StatusOr<RunResult> result = trainer.Train(Request());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(result->steps, 8);
  EXPECT_EQ(result->run_dir, "");
  ASSERT_NE(trainer.model(), nullptr);
  EXPECT_GT(trainer.TakeModel()
                ->NamedParameters()[0]
                .second.abs()
                .sum()
                .item()
                .toDouble(),
            0);
}

TEST(Trainer, TellsReportersAndObeysCallbacks) {
  int steps = 0;
  TrainRequest request = Request();
  request.reporters.push_back(std::make_unique<Counter>(steps));
  request.callbacks.push_back(std::make_unique<StopsAtOnce>());
  const absl::StatusOr<RunResult> result =
      Trainer("test", Quiet()).Train(std::move(request));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_reason, loop::ExitReason::kEarlyStop);
  EXPECT_EQ(steps, 1);
}

TEST(Trainer, WritesWhereItIsTold) {
  TrainerSettings settings = Quiet();
  settings.ckpt_root_dir = testing::TempDir() + "/api_runs";
  const absl::StatusOr<RunResult> result =
      Trainer("mine", settings).Train(Request());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->run_dir, HasSubstr("api_runs/mine/RUN_"));
  EXPECT_TRUE(std::filesystem::exists(result->run_dir + "/result.json"));
}

TEST(Trainer, TurnsPluginsOnByTheirKeys) {
  TrainRequest request = Request();
  request.training_hyperparams["ema"] = true;
  request.plugins = {{"lr_warmup", {{"epochs", 1}}}};
  const absl::StatusOr<RunResult> result =
      Trainer("test", Quiet()).Train(std::move(request));
  ASSERT_TRUE(result.ok()) << result.status();
  std::vector<std::string> ids;
  for (const loop::PluginSeconds& plugin : result->plugins) {
    ids.push_back(plugin.id);
  }
  EXPECT_THAT(ids, testing::IsSupersetOf({"ema", "lr_warmup", "optim"}));
}

TEST(Trainer, RefusesARequestWithoutModelOrData) {
  const std::string text = Refusal(TrainRequest());
  EXPECT_THAT(text, HasSubstr("no model"));
  EXPECT_THAT(text, HasSubstr("no train_loader"));
}

TEST(Trainer, TellsEveryMistakeInTheHyperparameters) {
  TrainRequest request = Request();
  request.training_hyperparams["max_epoch"] = 3;
  request.training_hyperparams["initial_lr"] = "fast";
  request.plugins = {{"emma", nullptr}};
  const std::string text = Refusal(std::move(request));
  EXPECT_THAT(text, HasSubstr("did you mean \"max_epochs\"?"));
  EXPECT_THAT(text, HasSubstr("\"fast\""));
  EXPECT_THAT(text, HasSubstr("did you mean \"ema\"?"));
}

TEST(Trainer, RefusesATrainingWithoutALoss) {
  TrainRequest request = Request();
  request.training_hyperparams.erase("loss");
  EXPECT_THAT(Refusal(std::move(request)), HasSubstr("no loss"));
}

TEST(Trainer, GivesAFailureAsAResult) {
  TrainRequest request = Request();
  request.model = nn::Linear({.in = 3, .out = 2});
  const absl::StatusOr<RunResult> result =
      Trainer("test", Quiet()).Train(std::move(request));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 1);
  ASSERT_TRUE(result->error.has_value());
  EXPECT_THAT(result->error->message, HasSubstr("epoch 0, batch 0"));
}

}  // namespace
}  // namespace slipway
