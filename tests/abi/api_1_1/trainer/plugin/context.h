// What a hook sees and may change: one context class per phase, so that a hook
// cannot write what its phase does not allow.
//
//   Configure                                        ConfigureContext
//   CreateModel, TransformModel                      ModelContext
//   BuildOptimizer                                   OptimizerContext
//   WrapForward                                      WrapContext
//   BeforeLoad, AfterLoad, BeforeSave, AfterSave     CheckpointContext
//   FitBegin, EpochBegin, EpochEnd, FitEnd           FitContext
//   BatchFetched, StepBegin, MicroBegin              BatchContext
//   BeforeForward                                    ForwardContext
//   AfterForward, ComputeLoss, AfterLoss             OutputContext
//   BeforeBackward, AfterBackward, MicroEnd,
//   BeforeOptimizer                                  GradientContext
//   AfterOptimizer, StepEnd                          StepContext
//   EvalBegin, EvalBatchBegin, EvalForward,
//   EvalBatchEnd, EvalEnd                            EvalContext
//
// Contexts are one pointer wide and valid during the call only. Their accessors
// are compiled into libslipway_core.so, so that a plugin built against an older
// minor version keeps working when the core's state grows.
#ifndef SLIPWAY_TRAINER_PLUGIN_CONTEXT_H_
#define SLIPWAY_TRAINER_PLUGIN_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "tests/abi/api_1_1/trainer/data/dataset.h"
#include "tests/abi/api_1_1/trainer/nn/module.h"
#include "tests/abi/api_1_1/trainer/plugin/control.h"
#include "tests/abi/api_1_1/trainer/plugin/gradient_scaler.h"
#include "tests/abi/api_1_1/trainer/plugin/loss.h"
#include "tests/abi/api_1_1/trainer/plugin/optimizer.h"
#include "tests/abi/api_1_1/trainer/plugin/schedule.h"
#include "tests/abi/api_1_1/trainer/recipe/node.h"
#include "tests/abi/api_1_1/trainer/recipe/problem.h"

namespace slipway {

// The core's state; defined in trainer/plugin/training_state.h, which plugins
// do not include.
struct TrainingState;

// What every hook may read, say and ask for.
class Context {
 public:
  explicit Context(TrainingState& state) : state_(&state) {}

  int rank() const;
  int local_rank() const;
  int world_size() const;
  at::Device device() const;
  // Where this run's files lie; only rank 0 writes there.
  const std::string& run_dir() const;
  const recipe::Node& recipe() const;
  uint64_t seed() const;
  // training_hyperparams.compat is "supergradients": its measured behaviour,
  // traps included, instead of the right one.
  bool supergradients_compat() const;

  int64_t max_epochs() const;
  // Of this rank.
  int64_t batches_per_epoch() const;
  // Batches per optimizer step.
  int64_t accumulate() const;
  // Optimizer steps in an epoch and in the whole training, if none is skipped.
  int64_t steps_per_epoch() const;
  int64_t total_steps() const;

  int64_t epoch() const;  // from 0
  int64_t batch() const;  // in the epoch, from 0
  int64_t micro() const;  // in the window, from 0
  int64_t step() const;   // optimizer steps taken so far

  Control& control();
  // Prints and logs a warning or note; the hook goes on. Equal ones are said
  // once.
  void Report(Problem problem);
  // Adds an event to the run's log: `name` as metrics.jsonl has it, `detail` a
  // map. Does nothing before the training begins.
  void Tell(std::string_view name, recipe::Node detail);
  // A section of result.json, which replaces an earlier one of that name. By
  // custom a plugin's has the plugin's id.
  void SetResult(std::string_view name, recipe::Node section);

 protected:
  TrainingState* state_;
};

class ConfigureContext : public Context {
 public:
  using Context::Context;
  // For the holder of the claim `backward_scale`, `lr_warmup`.
  void SetGradientScaler(std::unique_ptr<GradientScaler> scaler);
  void SetWarmup(std::unique_ptr<Warmup> warmup);
};

class ModelContext : public Context {
 public:
  using Context::Context;
  nn::Module& model();
  // CreateModel: a further model (a teacher) that other hooks of this plugin
  // use; the core moves it to the device and keeps it out of the optimizer.
  void AddModel(std::string name, std::unique_ptr<nn::Module> model);
};

class OptimizerContext : public Context {
 public:
  using Context::Context;
  nn::Module& model();
  // The groups from which the optimizer will be made.
  std::vector<ParameterGroup>& groups();
};

class WrapContext : public Context {
 public:
  using Context::Context;
  nn::Module& model();
  // Puts `wrapper` around the whole model's forward in training; the first one
  // added is the innermost.
  void Wrap(nn::Module::ForwardWrapper wrapper);
};

class CheckpointContext : public Context {
 public:
  using Context::Context;
  const nn::Module& model() const;
  const std::string& path() const;
  // Tensors under a top-level key of the checkpoint such as "ema_net": set in
  // BeforeSave, found after BeforeLoad (null if the file has no such key).
  void SetTensors(std::string key, std::vector<nn::NamedTensor> tensors);
  const std::vector<nn::NamedTensor>* FindTensors(std::string_view key) const;
};

class FitContext : public Context {
 public:
  using Context::Context;
  nn::Module& model();
  Optimizer& optimizer();
  // Sets a named parameter of the training loader from this epoch on: part is
  // "collate", "sampler" or "transform.<name or position>". EpochBegin only
  // (FAILED_PRECONDITION elsewhere).
  absl::Status SetLoaderParameter(std::string_view part,
                                  std::string_view parameter,
                                  const recipe::Node& value);
  // EpochEnd: results of this epoch as {"train", "Accuracy"} -> value; NaN if
  // there is none.
  double Metric(std::string_view split, std::string_view name) const;
};

class BatchContext : public Context {
 public:
  using Context::Context;
  data::Batch& current_batch();
};

class ForwardContext : public Context {
 public:
  using Context::Context;
  const data::Batch& current_batch() const;
  // Active while forward and loss are computed.
  void Enter(std::unique_ptr<Scope> scope);
};

class OutputContext : public Context {
 public:
  using Context::Context;
  const data::Batch& current_batch() const;
  Value& prediction();
  // Set in ComputeLoss, for the holder of the claim `loss`; the core's loss is
  // not computed then. AfterLoss may change it.
  void SetLoss(LossOutput loss);
  LossOutput& loss();
};

class GradientContext : public Context {
 public:
  using Context::Context;
  // Parameters by name; a gradient is `tensor.grad()`, undefined if none. True
  // (unscaled) gradients in BeforeOptimizer, scaled ones before.
  nn::Module& model();
  Optimizer& optimizer();
  const LossOutput& loss() const;
};

class StepContext : public Context {
 public:
  using Context::Context;
  const nn::Module& model() const;
  const Optimizer& optimizer() const;
  // False if the step was skipped.
  bool step_taken() const;
  // One rate per parameter group, as used in this step.
  const std::vector<double>& learning_rates() const;
};

class EvalContext : public Context {
 public:
  using Context::Context;
  // "valid", "test" or "average".
  const std::string& split() const;
  nn::Module& model();
  const data::Batch& current_batch() const;
  // EvalForward may set it (claim `eval_forward`), EvalBatchEnd reads it.
  Value& prediction();
  // EvalBegin: active until the evaluation ends (EMA weights, ...).
  void Enter(std::unique_ptr<Scope> scope);
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_CONTEXT_H_
