#include "trainer/plugin/context.h"

#include <cmath>

#include "ATen/ops/ones.h"
#include "gtest/gtest.h"
#include "trainer/plugin/training_state.h"

namespace slipway {
namespace {

class Identity : public nn::TensorModule {
 public:
  std::string kind() const override { return "Identity"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override { return x; }
};

// Writes its name when it is undone.
class Noted : public Scope {
 public:
  Noted(std::string name, std::string& log)
      : name_(std::move(name)), log_(log) {}
  ~Noted() override { log_ += name_; }

 private:
  std::string name_;
  std::string& log_;
};

TEST(Context, ShowsTheState) {
  TrainingState state;
  state.rank = 3;
  state.local_rank = 1;
  state.world_size = 4;
  state.run_dir = "/run";
  state.seed = 42;
  state.supergradients_compat = true;
  state.max_epochs = 5;
  state.batches_per_epoch = 6;
  state.accumulate = 2;
  state.steps_per_epoch = 3;
  state.total_steps = 15;
  state.epoch = 1;
  state.batch_index = 4;
  state.micro = 0;
  state.step = 5;
  const Context context(state);
  EXPECT_EQ(context.rank(), 3);
  EXPECT_EQ(context.local_rank(), 1);
  EXPECT_EQ(context.world_size(), 4);
  EXPECT_EQ(context.device(), at::kCPU);
  EXPECT_EQ(context.run_dir(), "/run");
  EXPECT_EQ(context.seed(), 42);
  EXPECT_TRUE(context.supergradients_compat());
  EXPECT_EQ(context.max_epochs(), 5);
  EXPECT_EQ(context.batches_per_epoch(), 6);
  EXPECT_EQ(context.accumulate(), 2);
  EXPECT_EQ(context.steps_per_epoch(), 3);
  EXPECT_EQ(context.total_steps(), 15);
  EXPECT_EQ(context.epoch(), 1);
  EXPECT_EQ(context.batch(), 4);
  EXPECT_EQ(context.micro(), 0);
  EXPECT_EQ(context.step(), 5);
}

TEST(Context, SaysEqualProblemsOnce) {
  TrainingState state;
  Problems told;
  state.report = [&](Problem problem) { told.push_back(problem); };
  Context context(state);
  for (const char* message : {"slow", "slow", "late", "slow"}) {
    context.Report({.severity = Severity::kWarning, .message = message});
  }
  ASSERT_EQ(told.size(), 2);
  EXPECT_EQ(told[1].message, "late");
}

TEST(Context, PassesOnWhatHooksAskFor) {
  TrainingState state;
  Context(state).control().RequestStop("enough");
  EXPECT_EQ(state.control.stop_reason(), "enough");
}

TEST(Context, KeepsTheLastSectionOfAName) {
  TrainingState state;
  Context(state).SetResult("mine", recipe::Node::Int(1));
  Context(state).SetResult("mine", recipe::Node::Int(2));
  ASSERT_EQ(state.results.size(), 1);
  EXPECT_EQ(state.results["mine"].AsInt(), 2);
}

TEST(Context, IsSilentBeforeTheTrainingBegins) {
  TrainingState state;
  Context(state).Tell("early", recipe::Node::Map());
}

TEST(ModelContext, KeepsFurtherModels) {
  TrainingState state;
  ModelContext(state).AddModel("teacher", std::make_unique<Identity>());
  ASSERT_EQ(state.extra_models.size(), 1);
  EXPECT_EQ(state.extra_models[0].first, "teacher");
}

TEST(CheckpointContext, FindsTheTensorsThatWereSetLast) {
  TrainingState state;
  CheckpointContext context(state);
  context.SetTensors("ema_net", {{"a", at::ones({1})}});
  context.SetTensors("ema_net", {{"b", at::ones({2})}});
  ASSERT_EQ(state.checkpoint_tensors.size(), 1);
  EXPECT_EQ(context.FindTensors("ema_net")->front().first, "b");
  EXPECT_EQ(context.FindTensors("net"), nullptr);
}

TEST(FitContext, RefusesLoaderParametersWhileBatchesArePrepared) {
  TrainingState state;
  const absl::Status status = FitContext(state).SetLoaderParameter(
      "collate", "size", recipe::Node::Int(3));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST(FitContext, HasNoNumberForAMetricThatIsNotThere) {
  TrainingState state;
  state.metrics[{"valid", "Accuracy"}] = 0.5;
  const FitContext context(state);
  EXPECT_EQ(context.Metric("valid", "Accuracy"), 0.5);
  EXPECT_TRUE(std::isnan(context.Metric("train", "Accuracy")));
}

TEST(OutputContext, TellsTheLoopThatTheLossIsSet) {
  TrainingState state;
  OutputContext context(state);
  context.SetLoss({.total = at::ones({}), .items = {}});
  EXPECT_TRUE(state.loss_set);
  EXPECT_TRUE(context.loss().total.defined());
}

TEST(ForwardContext, HandsScopesToTheLoopInOrder) {
  TrainingState state;
  std::string log;
  ForwardContext forward(state);
  forward.Enter(std::make_unique<Noted>("a", log));
  EvalContext(state).Enter(std::make_unique<Noted>("b", log));
  ASSERT_EQ(state.scopes.size(), 2);
  state.scopes.pop_back();
  EXPECT_EQ(log, "b");
}

}  // namespace
}  // namespace slipway
