// A net in training, with an optimizer and an average of its weights, whose
// steps can be taken eagerly or by a compiled graph.
//
//   Training compiled(NesterovSgd);
//   Training eager(NesterovSgd);
//   CompiledStep step(setup);
//   if (!compiled.ByGraph(step, batch, 0.1)) compiled.Eagerly(batch, 0.1);
//   eager.Eagerly(batch, 0.1);
//   ExpectEqual(compiled, eager);
#ifndef SLIPWAY_PLUGINS_COMPILE_TEST_TRAINING_H_
#define SLIPWAY_PLUGINS_COMPILE_TEST_TRAINING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/autocast_mode.h"
#include "ATen/core/Reduction.h"
#include "ATen/ops/cross_entropy_loss.h"
#include "ATen/ops/randint.h"
#include "ATen/ops/randn.h"
#include "gtest/gtest.h"
#include "plugins/compile/compiled_step.h"
#include "plugins/compile/test_net.h"
#include "plugins/compile/test_no_leak_check.h"
#include "plugins/ema/ema.h"
#include "plugins/optim/adam.h"
#include "plugins/optim/sgd.h"
#include "trainer/plugin/training_state.h"

namespace slipway::compile {

using MakeOptimizer =
    std::unique_ptr<Optimizer> (*)(std::vector<ParameterGroup>);

inline std::unique_ptr<Optimizer> NesterovSgd(
    std::vector<ParameterGroup> groups) {
  return std::make_unique<optim::Sgd>(
      std::move(groups),
      optim::SgdOptions{.weight_decay = 0.01, .nesterov = true});
}

inline std::unique_ptr<Optimizer> AdamW(std::vector<ParameterGroup> groups) {
  return std::make_unique<optim::Adam>(
      std::move(groups),
      optim::AdamOptions{.weight_decay = 0.1, .decoupled = true});
}

// Autocast to bf16, for as long as it lives.
class Bf16 {
 public:
  Bf16() {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Bf16() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
};

class CrossEntropy : public Loss {
 public:
  absl::StatusOr<LossOutput> Compute(const Value& prediction,
                                     const Value& target) override {
    const at::Tensor scores = prediction.tensor().to(at::kFloat);
    at::Tensor total =
        at::cross_entropy_loss(scores, target.tensor(), {}, at::Reduction::Mean,
                               /*ignore_index=*/-100);
    if (delicate) {
      const at::Tensor mean = target.tensor().to(at::kFloat).mean();
      total = total.add(scores.sum().mul(0).add(mean).sqrt());
    }
    return LossOutput{.total = total};
  }

  // Where all classes are 0 the loss is finite, and its gradient is not: that
  // of a square root at zero.
  bool delicate = false;
};

// A net in training, with an average of its weights.
struct Training {
  explicit Training(MakeOptimizer make)
      : ema({.decay = 0.9, .type = ema::DecayType::kConstant}) {
    Seed(7);
    net = TestNet(/*dropout=*/0.3);
    net->Train(true);
    ParameterGroup group = {.name = "default", .initial_lr = 0.1};
    group.parameters = net->NamedParameters();
    optimizer = make({group});
    state.model = net.get();
    state.loss_function = &loss;
    state.optimizer = optimizer.get();
    state.total_steps = 100;
    state.whole_step.updates = {dynamic_cast<StepUpdate*>(optimizer.get()),
                                &ema};
    FitContext context(state);
    EXPECT_TRUE(ema.FitBegin(context).ok());
  }

  void Eagerly(const data::Batch& batch, double rate) {
    const at::Tensor total = [&] {
      const std::optional<Bf16> scope = Scope();
      return loss.Compute(net->Run(batch.input), batch.target)->total;
    }();
    total.backward();
    losses.push_back(total.item().toDouble());
    EXPECT_TRUE(optimizer->Step({rate}).ok());
    optimizer->ZeroGrad();
    state.step_taken = true;
    StepContext context(state);
    EXPECT_TRUE(ema.AfterOptimizer(context).ok());
  }

  // Returns whether compiled code did it, and has taken the step.
  bool ByGraph(CompiledStep& step, const data::Batch& batch, double rate) {
    state.batch = batch;
    state.learning_rates = {rate};
    state.whole_step.done = StepPart::kNone;
    WholeStepContext context(state);
    const std::optional<Bf16> scope = Scope();
    const absl::Status status = step.Run(context);
    EXPECT_TRUE(status.ok()) << status;
    if (state.whole_step.done == StepPart::kNone) return false;
    losses.push_back(state.loss.total.item().toDouble());
    if (!state.whole_step.taken.item().toBool()) return false;
    for (StepUpdate* update : state.whole_step.updates) update->TookStep();
    return true;
  }

  // Parameters, buffers, the optimizer's state, averages.
  std::vector<nn::NamedTensor> Everything() {
    std::vector<nn::NamedTensor> all = net->StateDict();
    for (const auto& [parameter, entry] : optimizer->State()) {
      for (const auto& [name, tensor] : entry) {
        all.emplace_back(parameter + "." + name, tensor);
      }
    }
    const auto averages = ema.UpdatedTensors();
    for (const auto& average : *averages) all.push_back(average);
    return all;
  }

  std::optional<Bf16> Scope() const {
    std::optional<Bf16> scope;
    if (autocast) scope.emplace();
    return scope;
  }

  bool autocast = false;
  std::unique_ptr<nn::Module> net;
  CrossEntropy loss;
  std::unique_ptr<Optimizer> optimizer;
  ema::Ema ema;
  TrainingState state;
  std::vector<double> losses;
};

inline data::Batch BatchOf(int64_t size) {
  data::Batch batch;
  batch.input = Value(at::randn({size, 3, 8, 8}));
  batch.target = Value(at::randint(10, {size}, at::kLong));
  return batch;
}

inline void ExpectEqual(Training& compiled, Training& eager,
                        double tolerance = 2e-5) {
  ASSERT_EQ(compiled.losses.size(), eager.losses.size());
  for (size_t i = 0; i < eager.losses.size(); ++i) {
    EXPECT_NEAR(compiled.losses[i], eager.losses[i], tolerance) << "step " << i;
  }
  const std::vector<nn::NamedTensor> found = compiled.Everything();
  const std::vector<nn::NamedTensor> expected = eager.Everything();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const at::Tensor& a = found[i].second;
    const at::Tensor& b = expected[i].second;
    EXPECT_TRUE(a.allclose(b, 50 * tolerance, tolerance))
        << found[i].first << " is off by "
        << a.sub(b).abs().max().item().toDouble();
  }
}

// Compiles whole steps, with the test's own cache.
class CompiledStepTest : public testing::Test {
 protected:
  CompiledStepTest() {
    options_.wait = true;
    options_.cache_dir = testing::TempDir() + "/compiled";
    options_.program = "plugins/compile/compiler/programs/run_compiler.py";
  }

  // Six steps, both ways; the first one is eager.
  void TrainBoth(Training& compiled, Training& eager) {
    CompiledStep step(setup_);
    const double rates[] = {0.1, 0.05, 0.1, 0.02, 0, 0.1};
    const int64_t sizes[] = {8, 8, 8, 5, 8, 12};
    for (int i = 0; i < 6; ++i) {
      Seed(100 + i);
      const data::Batch batch = BatchOf(sizes[i]);
      const bool taken = compiled.ByGraph(step, batch, rates[i]);
      EXPECT_EQ(taken, i > 0) << "step " << i;
      if (!taken) compiled.Eagerly(batch, rates[i]);
      Seed(100 + i);
      eager.Eagerly(BatchOf(sizes[i]), rates[i]);
    }
    const std::vector<Outcome> outcomes = step.TakeOutcomes();
    ASSERT_EQ(outcomes.size(), 1);
    EXPECT_TRUE(outcomes[0].compiled()) << ToText(outcomes[0]);
    EXPECT_EQ(outcomes[0].scope, "step");
  }

  Options options_;
  // "plain" even where a net this small is no faster by it.
  GraphSetup setup_{.options = options_, .scope = "step", .candidate = "plain"};
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_TEST_TRAINING_H_
