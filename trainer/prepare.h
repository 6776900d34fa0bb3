// From a recipe to a training that can start: the plan, the plugins' libraries,
// the parts and the setup hooks. Nothing is written and no batch is read.
//
//   Problems problems;
//   PrepareRequest request;
//   request.plugins = FindPlugins(composed->recipe, folders, problems);
//   CheckRecipe(*composed, request.plugins, /*allow_unknown=*/false, problems);
//   request.recipe = composed->recipe;
//   std::optional<Prepared> prepared = Prepare(std::move(request), problems);
//   if (!prepared) { std::cerr << FormatProblems(problems); return 2; }
//   prepared->trainer->Fit();
#ifndef SLIPWAY_TRAINER_PREPARE_H_
#define SLIPWAY_TRAINER_PREPARE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/dist/process_group.h"
#include "trainer/find_plugins.h"
#include "trainer/loop/trainer.h"
#include "trainer/plan/plan.h"
#include "trainer/plugin/plugin.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway {

struct PrepareRequest {
  recipe::Node recipe;  // composed and checked
  std::string recipe_name;
  PluginManifests plugins;
  // "auto", "cpu" or "cuda"; empty: the recipe's `device`, else auto.
  std::string device;
  // The ranks that train together, of which this process is one; borrowed.
  // Null: it is alone.
  dist::ProcessGroup* group = nullptr;
  // Where the run's files will lie; empty: none are written.
  std::string run_dir;
  // The weights will be a checkpoint's: those that the recipe names to start
  // from (checkpoint_params) are not looked at.
  bool resumes = false;
  // What the program brings itself; the recipe tells the rest.
  loop::TrainerParts parts;
  // Hooks of the program's own, called as phase_callbacks are.
  std::vector<std::unique_ptr<Plugin>> callbacks;
};

struct Prepared {
  plan::Plan plan;
  std::unique_ptr<loop::Trainer> trainer;
  // The model as the recipe calls it, else its kind.
  std::string architecture;
};

// "cpu" or "cuda": what `flag` says, else the recipe's `device`, else what
// there is. Appends an error if it cannot be used.
std::string ChooseDevice(const recipe::Node& recipe, const std::string& flag,
                         Problems& problems);

// Nullopt if and only if `problems` has an error in the end. It may have some
// already, of the recipe: what is wrong with the plan then joins them. All that
// is wrong with the hyperparameters and the plan comes at once; if those are
// right, what is wrong with the libraries, or else with the parts. Warnings and
// notes are appended too.
std::optional<Prepared> Prepare(PrepareRequest request, Problems& problems);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PREPARE_H_
