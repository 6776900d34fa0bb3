// Training from a program of your own: your model and loaders, hyperparameters
// as a map, no recipe file.
//
//   slipway::TrainRequest request;
//   request.model = std::make_unique<MyNet>();
//   request.train_loader = MyLoader("train");
//   request.valid_loader = MyLoader("valid");
//   request.training_hyperparams = {
//       {"max_epochs", 10}, {"initial_lr", 0.1}, {"optimizer", "SGD"},
//       {"loss", "CrossEntropyLoss"}, {"valid_metrics_list", {"Accuracy"}},
//       {"ema", true}};
//   slipway::Trainer trainer("my_experiment");
//   absl::StatusOr<slipway::RunResult> result =
//       trainer.Train(std::move(request));
//
// The names are a recipe's, and SuperGradients': what can stand under
// `training_hyperparams` in a recipe can stand in the map; the optimizer is SGD
// where none is named. Losses, metrics and
// optimizers come from plugins, which are searched beside the program, in
// $SLIPWAY_PLUGIN_PATH and where TrainerSettings says; what you bring yourself
// needs no plugin.
//
// Nothing here throws. One thread's; several trainers may exist, one may train.
#ifndef SLIPWAY_TRAINER_API_H_
#define SLIPWAY_TRAINER_API_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "trainer/data/loader.h"
#include "trainer/dist/process_group.h"
#include "trainer/loop/run_result.h"
#include "trainer/nn/module.h"
#include "trainer/plugin/loss.h"
#include "trainer/plugin/metric.h"
#include "trainer/plugin/plugin.h"
#include "trainer/report/reporter.h"

namespace slipway {

using loop::RunResult;

struct TrainerSettings {
  // Runs are written to ckpt_root_dir/experiment_name/RUN_...; empty: nothing
  // is written.
  std::string ckpt_root_dir = "checkpoints";
  std::string device = "auto";  // or "cpu", "cuda"
  // Folders in which plugins are searched first.
  std::vector<std::string> plugin_path = {};
  // Progress, epochs, warnings and errors on standard error.
  bool console = true;
  // SIGINT and SIGTERM end the training at its next step, saved, with
  // exit_reason signal, instead of the process.
  bool handle_signals = false;
  // The processes that train together, of which this is one: connected, and
  // borrowed. All call Train with the same request, but loaders that have the
  // share of their rank (LoaderOptions). Rank 0 writes and shows what it does.
  // Null: this process is alone.
  dist::ProcessGroup* group = nullptr;
};

struct TrainRequest {
  // Mandatory.
  std::unique_ptr<nn::Module> model = nullptr;
  std::unique_ptr<data::Loader> train_loader = nullptr;
  nlohmann::ordered_json training_hyperparams =
      nlohmann::ordered_json::object();
  // Without it there is no validation, and no best checkpoint.
  std::unique_ptr<data::Loader> valid_loader = nullptr;
  // Instead of those that training_hyperparams name.
  std::unique_ptr<Loss> loss = nullptr;
  std::vector<std::unique_ptr<Metric>> train_metrics = {};
  std::vector<std::unique_ptr<Metric>> valid_metrics = {};
  // Besides the plugins: an object whose hooks are called as theirs are.
  std::vector<std::unique_ptr<Plugin>> callbacks = {};
  std::vector<std::unique_ptr<Reporter>> reporters = {};
  // A recipe's section `plugins`, for plugins that have no key above.
  nlohmann::ordered_json plugins = nlohmann::ordered_json::object();
};

class Trainer {
 public:
  explicit Trainer(std::string experiment_name, TrainerSettings settings = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Trains to the end. INVALID_ARGUMENT, which lists all that is wrong with the
  // request, if nothing was started; a training that started and failed is a
  // result with exit_code 1 and an error.
  absl::StatusOr<RunResult> Train(TrainRequest request);

  // The model of the last training, with its trained weights; null before.
  nn::Module* model();
  // The same, handed over.
  std::unique_ptr<nn::Module> TakeModel();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_API_H_
