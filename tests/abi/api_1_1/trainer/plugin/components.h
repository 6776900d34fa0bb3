// What plugins contribute by name: models, data sets, losses, optimizers, ...
//
//   void MyPlugin::Register(Components& components) {
//     components.models.Add("tiny_net", [](const BuildArgs& args) {
//       recipe::Params params(args.params, "model tiny_net", args.problems);
//       const int64_t classes = params.Int("num_classes", {.min = 1});
//       params.Finish();
//       return std::make_unique<TinyNet>(classes);
//     });
//   }
//
// A factory returns null if and only if it appended an error to
// `args.problems`; it may throw nothing. Names are matched as SuperGradients
// does: exactly, else without case and separators. The manifest lists the same
// names under `components`, so that a recipe's `architecture: tiny_net` finds
// the plugin before its library is loaded.
#ifndef SLIPWAY_TRAINER_PLUGIN_COMPONENTS_H_
#define SLIPWAY_TRAINER_PLUGIN_COMPONENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/abi/api_1_1/trainer/data/dataset.h"
#include "tests/abi/api_1_1/trainer/nn/module.h"
#include "tests/abi/api_1_1/trainer/plan/names.h"
#include "tests/abi/api_1_1/trainer/plugin/loss.h"
#include "tests/abi/api_1_1/trainer/plugin/metric.h"
#include "tests/abi/api_1_1/trainer/plugin/optimizer.h"
#include "tests/abi/api_1_1/trainer/plugin/schedule.h"
#include "tests/abi/api_1_1/trainer/recipe/node.h"
#include "tests/abi/api_1_1/trainer/recipe/problem.h"

namespace slipway {

class Plugin;
class Reporter;
struct Components;

// What every factory gets.
struct BuildArgs {
  // The component's own parameters: a map, or null for none.
  const recipe::Node& params;
  // The whole recipe, composed.
  const recipe::Node& recipe;
  // Where to look up nested components.
  const Components& components;
  Problems& problems;
  // The run's seed.
  uint64_t seed = 0;
};

// Factories of one kind, by name.
template <typename Function>
class Registry {
 public:
  // False if the name is taken (exactly).
  bool Add(std::string name, Function factory);
  // Exactly, else without case and separators; null if there is none.
  const Function* Find(std::string_view name) const;
  // In order of registration.
  std::vector<std::string> names() const;

 private:
  std::vector<std::pair<std::string, Function>> entries_;
};

template <typename T>
using Factory = std::function<std::unique_ptr<T>(const BuildArgs&)>;

using OptimizerFactory = std::function<std::unique_ptr<Optimizer>(
    const BuildArgs&, std::vector<ParameterGroup>)>;

// Transforms see their data set only through Apply; samplers need its size.
using SamplerFactory = std::function<std::unique_ptr<data::Sampler>(
    const BuildArgs&, int64_t size)>;

// A named loader such as "digits_train": a data set with the parameters that
// apply where the recipe sets none (SuperGradients merges the same way).
struct DatasetEntry {
  Factory<data::Dataset> create;
  // Defaults beneath the recipe's dataset_params and dataloader_params. The
  // key `transforms` of the former is the loader's, not the data set's.
  recipe::Node dataset_defaults;
  recipe::Node loader_defaults;
};

struct Components {
  Registry<Factory<nn::Module>> models;
  Registry<DatasetEntry> datasets;
  Registry<Factory<data::Transform>> transforms;
  Registry<Factory<data::Collate>> collates;
  Registry<SamplerFactory> samplers;
  Registry<Factory<Loss>> losses;
  Registry<Factory<Metric>> metrics;
  Registry<OptimizerFactory> optimizers;
  Registry<Factory<Schedule>> schedules;
  Registry<Factory<Reporter>> reporters;
  // phase_callbacks: hooks in the shape of a plugin.
  Registry<Factory<Plugin>> callbacks;
};

// --- implementation of Registry ---------------------------------------------

template <typename Function>
bool Registry<Function>::Add(std::string name, Function factory) {
  for (const auto& entry : entries_) {
    if (entry.first == name) return false;
  }
  entries_.emplace_back(std::move(name), std::move(factory));
  return true;
}

template <typename Function>
const Function* Registry<Function>::Find(std::string_view name) const {
  for (const auto& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  const std::string key = ComponentKey(name);
  for (const auto& entry : entries_) {
    if (ComponentKey(entry.first) == key) return &entry.second;
  }
  return nullptr;
}

template <typename Function>
std::vector<std::string> Registry<Function>::names() const {
  std::vector<std::string> result;
  for (const auto& entry : entries_) result.push_back(entry.first);
  return result;
}

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_COMPONENTS_H_
