#include "tests/perf/net_training.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>

#include "ATen/core/Reduction.h"
#include "ATen/ops/cross_entropy_loss.h"
#include "ATen/ops/randint.h"
#include "ATen/ops/randn.h"
#include "tests/perf/harness.h"
#include "tests/perf/nets.h"
// After LibTorch's headers, which define CHECK too.
#include "glog/logging.h"

namespace slipway::perf {
namespace {

// Small, so that hundreds of steps on one batch stay steps of a training: no
// loss of zero, no denormal gradients.
constexpr double kRate = 0.001;

ema::Decay SlowDecay() {
  return {.decay = 0.999, .type = ema::DecayType::kConstant};
}

double SecondsOf(const StepFunction& step) {
  const auto start = std::chrono::steady_clock::now();
  step();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

absl::StatusOr<LossOutput> CrossEntropy::Compute(const Value& prediction,
                                                 const Value& target) {
  return LossOutput{.total = at::cross_entropy_loss(
                        prediction.tensor(), target.tensor(), {},
                        at::Reduction::Mean, /*ignore_index=*/-100)};
}

NetTraining::NetTraining(std::unique_ptr<nn::Module> net,
                         const std::vector<int64_t>& images,
                         std::string compiler_options)
    : net_(std::move(net)), ema_(SlowDecay()) {
  options_.compiler_options = std::move(compiler_options);
  options_.wait = true;
  options_.program = "plugins/compile/compiler/programs/run_compiler.py";
  ParameterGroup group = {.name = "default", .initial_lr = kRate};
  group.parameters = net_->NamedParameters();
  optimizer_ = std::make_unique<optim::Sgd>(std::vector{std::move(group)},
                                            optim::SgdOptions());
  state_.model = net_.get();
  state_.loss_function = &loss_;
  state_.optimizer = optimizer_.get();
  state_.total_steps = 1000;
  state_.step_taken = true;
  state_.learning_rates = {kRate};
  state_.whole_step.updates = {optimizer_.get(), &ema_};
  state_.batch.input = Value(at::randn(images));
  state_.batch.target = Value(at::randint(kClasses, {images[0]}, at::kLong));
  FitContext context(state_);
  CHECK(ema_.FitBegin(context).ok());
}

StepFunction NetTraining::Eager() {
  return
      [this] { Take([this](const Value& batch) { return net_->Run(batch); }); };
}

std::vector<Way> NetTraining::Compiled(const std::string& scope) {
  // Whole steps take over what the optimizer makes in its first one.
  Eager()();
  std::vector<Way> ways;
  for (const char* candidate : {"plain", "layout"}) {
    Code& code = *codes_.emplace_back(new Code{
        {.options = options_, .scope = scope, .candidate = candidate}});
    if (scope == "step") {
      code.step = std::make_unique<compile::CompiledStep>(code.setup);
    } else {
      code.forward =
          std::make_unique<compile::CompiledForward>(*net_, code.setup);
    }
    TakeWith(code);
    const std::vector<compile::Outcome> outcomes = code.TakeOutcomes();
    CHECK_EQ(outcomes.size(), 1u);
    std::cerr << scope << ", " << candidate << ": " << ToText(outcomes[0])
              << std::endl;
    if (!outcomes[0].compiled()) continue;
    ways.push_back({candidate, [this, &code] { TakeWith(code); }});
  }
  return ways;
}

// As the trainer does.
void NetTraining::Take(const nn::Module::ForwardFunction& forward) {
  const Value prediction = forward(state_.batch.input);
  loss_.Compute(prediction, state_.batch.target)->total.backward();
  CHECK(optimizer_->Step({kRate}).ok());
  optimizer_->ZeroGrad();
  StepContext context(state_);
  CHECK(ema_.AfterOptimizer(context).ok());
}

void NetTraining::TakeWith(Code& code) {
  const auto eager = [this](const Value& batch) { return net_->Run(batch); };
  if (code.forward) {
    Take([&](const Value& batch) { return code.forward->Run(eager, batch); });
    return;
  }
  state_.whole_step.done = StepPart::kNone;
  WholeStepContext context(state_);
  CHECK(code.step->Run(context).ok());
  if (state_.whole_step.done != StepPart::kAll) return;  // there is no code
  CHECK(state_.whole_step.taken.item().toBool());
  for (StepUpdate* update : state_.whole_step.updates) update->TookStep();
}

Way Fastest(const std::vector<Way>& ways) {
  std::vector<std::vector<double>> seconds(ways.size());
  for (int round = 0; round < 5; ++round) {
    for (size_t i = 0; i < ways.size(); ++i) {
      seconds[i].push_back(SecondsOf(ways[i].step));
    }
  }
  const auto slower = [](const auto& a, const auto& b) {
    return Quantile(a, 0.5) < Quantile(b, 0.5);
  };
  const auto best = std::min_element(seconds.begin(), seconds.end(), slower);
  return ways[best - seconds.begin()];
}

}  // namespace slipway::perf
