// Trains with one plugin, as the trainer would, on a small real training
// (small_training.h): for tests of what a plugin does in a loop.
//
//   testing::HarnessOptions options;
//   options.plugin = std::make_unique<Ema>(0.9);
//   options.epochs = 2;
//   options.steps_per_epoch = 4;
//   ASSERT_OK_AND_ASSIGN(auto harness,
//                        testing::PluginHarness::Create(std::move(options)));
//   EXPECT_EQ(harness->Train().exit_code, 0);
//   EXPECT_EQ(harness->losses().size(), 8);
//   EXPECT_EQ(harness->calls(Hook::kAfterOptimizer), 8);
//
// The plugin is an object, or a folder with plugin.yaml and its library, which
// is then planned, opened and created as in a run. A training that goes on from
// another one's checkpoint has `run_dir` in the first and `resume_from` in the
// second. What a single hook does without a loop: fake_host.h.
//
// One thread's. Trainings in one process come one after another.
#ifndef SLIPWAY_PLUGINS_TESTING_HARNESS_H_
#define SLIPWAY_PLUGINS_TESTING_HARNESS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "plugins/testing/watched.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/dist/process_group.h"
#include "trainer/loop/run_result.h"
#include "trainer/loop/trainer.h"
#include "trainer/nn/module.h"
#include "trainer/plugin/hook.h"
#include "trainer/plugin/plugin.h"
#include "trainer/recipe/node.h"
#include "trainer/report/reporter.h"

namespace slipway::testing {

struct HarnessOptions {
  // The plugin, called at every hook; or where its plugin.yaml lies; or, with
  // neither, a training without one.
  std::unique_ptr<Plugin> plugin = nullptr;
  std::string folder = {};
  // With `folder`: where the plugins lie that it requires, and its
  // configuration (a map; null: the defaults).
  std::vector<std::string> plugin_path = {};
  recipe::Node config = {};
  // A recipe whose keys go before the harness's own; null: none.
  recipe::Node recipe = {};

  int64_t epochs = 1;
  int64_t steps_per_epoch = 4;
  // Where checkpoints go (it must exist); empty: none are written.
  std::string run_dir = {};
  // The ranks that train together; null: this process alone.
  dist::ProcessGroup* group = nullptr;
  // Further hooks, called after the plugin's; none if null.
  std::unique_ptr<Plugin> neighbour = nullptr;
  // Sees the plugin's calls; borrowed, and longer alive. May be null.
  Watcher* watcher = nullptr;
};

// What a training has told, in order.
struct Told {
  std::vector<StepReport> steps;
  std::vector<EpochReport> epochs;
  std::vector<EventReport> events;
  std::vector<Problem> problems;
};

class PluginHarness {
 public:
  // INVALID_ARGUMENT with all that the plan, the library or a setup hook has
  // against it.
  static absl::StatusOr<std::unique_ptr<PluginHarness>> Create(
      HarnessOptions options);
  ~PluginHarness();

  // Takes the training up where `checkpoint` was written. Before Train.
  absl::Status Resume(const Checkpoint& checkpoint);
  // To the end of the last epoch, once.
  loop::RunResult Train();

  // One a step.
  std::vector<double> losses() const;
  // How often the plugin was called.
  int64_t calls(Hook hook) const;
  const Told& told() const { return told_; }
  nn::Module& model() { return *model_; }
  // The plugin's own state, as a checkpoint would keep it.
  absl::StatusOr<PluginState> SaveState();

 private:
  class Calls;
  PluginHarness();
  absl::Status Prepare(HarnessOptions options);

  Told told_;
  std::unique_ptr<Calls> calls_;
  // Declared after what it tells.
  std::unique_ptr<loop::Trainer> trainer_;
  nn::Module* model_ = nullptr;
  Plugin* plugin_ = nullptr;
};

}  // namespace slipway::testing

#endif  // SLIPWAY_PLUGINS_TESTING_HARNESS_H_
