// The trainer's side of a single hook: a small net, its optimizer, a batch, and
// a record of what the hook says and asks for. No loop runs.
//
//   testing::FakeHost host;
//   host.state().step = 3;
//   Ema ema(0.9);
//   FitContext fit = host.In<FitContext>();
//   EXPECT_OK(ema.FitBegin(fit));
//   StepContext step = host.In<StepContext>();
//   EXPECT_OK(ema.AfterOptimizer(step));
//   EXPECT_TRUE(host.problems().empty());
//
// What a plugin does in a whole training: harness.h. One thread's.
#ifndef SLIPWAY_PLUGINS_TESTING_FAKE_HOST_H_
#define SLIPWAY_PLUGINS_TESTING_FAKE_HOST_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/plugin/context.h"
#include "trainer/plugin/loss.h"
#include "trainer/plugin/optimizer.h"
#include "trainer/plugin/training_state.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::testing {

class FakeHost {
 public:
  // A training of two epochs of four steps on the CPU, at its first batch.
  FakeHost();
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  // A context of the phase that is tested.
  template <typename ContextType>
  ContextType In() {
    return ContextType(state_);
  }

  // Everything that contexts show; tests set what their hook reads.
  TrainingState& state() { return state_; }
  nn::Module& model() { return *model_; }

  // Runs the net on the batch, and its loss backward: prediction, loss and
  // gradients are there afterwards.
  void Backward();
  // One step of the optimizer at `rate`, if `taken`; gradients are dropped.
  void Step(double rate, bool taken = true);
  // Ends the phase: what hooks have entered is undone, last first.
  void LeaveScopes();

  // What hooks have said: Context::Report, Tell, SetResult; and asked for.
  const Problems& problems() const { return problems_; }
  const std::vector<std::pair<std::string, recipe::Node>>& events() const {
    return events_;
  }
  // Null if there is no such section.
  const recipe::Node* Result(const std::string& name) const;
  const Control& control() const { return state_.control; }

 private:
  std::unique_ptr<nn::Module> model_;
  std::unique_ptr<Loss> loss_;
  std::unique_ptr<Optimizer> optimizer_;
  Problems problems_;
  std::vector<std::pair<std::string, recipe::Node>> events_;
  TrainingState state_;
};

}  // namespace slipway::testing

#endif  // SLIPWAY_PLUGINS_TESTING_FAKE_HOST_H_
