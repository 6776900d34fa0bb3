// A net in training, whose step can be taken in several ways.
//
//   NetTraining training(ResNet18(), {8, 3, 64, 64});
//   const StepFunction eager = training.Eager();
//   for (const Way& way : training.Compiled("step")) Compare(way.step, eager);
//
// A step is forward, cross-entropy loss, backward, SGD with momentum, and an
// average of the weights, on the same random batch each time. However it is
// taken, it moves the same net: sides that are timed in turns share their
// memory.
#ifndef SLIPWAY_TESTS_PERF_NET_TRAINING_H_
#define SLIPWAY_TESTS_PERF_NET_TRAINING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "plugins/compile/compiled_forward.h"
#include "plugins/compile/compiled_graph.h"
#include "plugins/compile/compiled_step.h"
#include "plugins/compile/options.h"
#include "plugins/compile/outcome.h"
#include "plugins/ema/ema.h"
#include "plugins/optim/sgd.h"
#include "trainer/nn/module.h"
#include "trainer/plugin/loss.h"
#include "trainer/plugin/training_state.h"

namespace slipway::perf {

using StepFunction = std::function<void()>;

struct Way {
  std::string name;
  StepFunction step;
};

class CrossEntropy : public Loss {
 public:
  absl::StatusOr<LossOutput> Compute(const Value& prediction,
                                     const Value& target) override;
};

class NetTraining {
 public:
  // `compiler_options` are the compiler's, as JSON.
  NetTraining(std::unique_ptr<nn::Module> net,
              const std::vector<int64_t>& images,
              std::string compiler_options = "{}");

  // Functions are valid as long as this.
  StepFunction Eager();

  // By the code that the plugin has for a scope, "model" (packages for forward
  // and backward in an eager step) or "step", by candidate, verified. Compiles,
  // or takes what the user's cache has. Says on stderr which candidate there is
  // none of, and why.
  std::vector<Way> Compiled(const std::string& scope);

 private:
  // The setup that code of one scope and candidate refers to, and the code.
  struct Code {
    compile::GraphSetup setup;
    std::unique_ptr<compile::CompiledForward> forward;
    std::unique_ptr<compile::CompiledStep> step;

    std::vector<compile::Outcome> TakeOutcomes() {
      return step ? step->TakeOutcomes() : forward->TakeOutcomes();
    }
  };

  void Take(const nn::Module::ForwardFunction& forward);
  void TakeWith(Code& code);

  std::unique_ptr<nn::Module> net_;
  compile::Options options_;
  CrossEntropy loss_;
  std::unique_ptr<optim::Sgd> optimizer_;
  ema::Ema ema_;
  TrainingState state_;
  std::vector<std::unique_ptr<Code>> codes_;
};

// The fastest by the median of five rounds in which each is timed. `ways` is
// not empty.
Way Fastest(const std::vector<Way>& ways);

}  // namespace slipway::perf

#endif  // SLIPWAY_TESTS_PERF_NET_TRAINING_H_
