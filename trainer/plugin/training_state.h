// The core's state behind the contexts. Not for plugins.
//
// The loop owns one TrainingState and makes contexts of it; context.cc holds
// the accessors. Pointers are borrowed from the loop and null outside the phase
// in which they mean something.
#ifndef SLIPWAY_TRAINER_PLUGIN_TRAINING_STATE_H_
#define SLIPWAY_TRAINER_PLUGIN_TRAINING_STATE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/data/loader.h"
#include "trainer/plugin/context.h"
#include "trainer/plugin/step_update.h"
#include "trainer/plugin/whole_step.h"

namespace slipway {

// How much of a step was done in one call.
enum class StepPart { kNone, kForward, kAll };

// A step in one call; see whole_step.h.
struct WholeStep {
  StepFunction function;
  std::string loss_blocker;
  std::string step_blocker;
  std::vector<StepUpdate*> updates;
  StepGuard guard = StepGuard::kLoss;
  // Of this micro-batch.
  StepPart done = StepPart::kNone;
  at::Tensor taken;
};

struct TrainingState {
  // The run.
  int rank = 0;
  int local_rank = 0;
  int world_size = 1;
  at::Device device = at::kCPU;
  std::string run_dir;
  recipe::Node recipe;
  uint64_t seed = 0;
  bool supergradients_compat = false;
  int64_t max_epochs = 0;
  int64_t batches_per_epoch = 0;
  int64_t accumulate = 1;
  int64_t steps_per_epoch = 0;
  int64_t total_steps = 0;

  // Progress.
  int64_t epoch = 0;
  int64_t batch_index = 0;
  int64_t micro = 0;
  int64_t step = 0;
  Control control;
  std::function<void(Problem)> report;
  std::set<std::string> reported;  // what Context::Report has passed on
  std::function<void(std::string_view name, recipe::Node detail)> tell;
  std::map<std::string, recipe::Node> results;  // sections of result.json

  // Set up by plugins.
  std::unique_ptr<GradientScaler> scaler;
  std::unique_ptr<Warmup> warmup;
  std::vector<std::pair<std::string, std::unique_ptr<nn::Module>>> extra_models;
  std::vector<nn::Module::ForwardWrapper> wrappers;
  WholeStep whole_step;
  std::vector<ParameterGroup> groups;

  // The training.
  nn::Module* model = nullptr;
  Loss* loss_function = nullptr;  // null if a plugin computes it
  Optimizer* optimizer = nullptr;
  data::Loader* train_loader = nullptr;
  bool loader_writable = false;
  data::Batch batch;
  Value prediction;
  LossOutput loss;
  bool loss_set = false;
  bool step_taken = false;
  std::vector<double> learning_rates;
  std::vector<std::unique_ptr<Scope>> scopes;
  std::map<std::pair<std::string, std::string>, double> metrics;

  // Evaluation and files.
  std::string split;
  std::string checkpoint_path;
  std::vector<std::pair<std::string, std::vector<nn::NamedTensor>>>
      checkpoint_tensors;

  // The wrappers around the model, the last one added outermost.
  Value RunModel(const Value& input) const;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_TRAINING_STATE_H_
