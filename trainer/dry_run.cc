#include "trainer/dry_run.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace slipway {
namespace {

using Json = nlohmann::ordered_json;

struct ModelSize {
  int64_t parameters = 0;
  int64_t buffers = 0;
  int64_t bytes = 0;
};

ModelSize SizeOf(const nn::Module& model) {
  ModelSize size;
  for (const auto& [name, tensor] : model.NamedParameters()) {
    size.parameters += tensor.numel();
    size.bytes += static_cast<int64_t>(tensor.nbytes());
  }
  for (const auto& [name, tensor] : model.NamedBuffers()) {
    size.buffers += tensor.numel();
    size.bytes += static_cast<int64_t>(tensor.nbytes());
  }
  return size;
}

// Groups that differ in weight decay alone share name and rates.
std::vector<size_t> DistinctGroups(const std::vector<std::string>& names) {
  std::vector<size_t> positions;
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (seen.insert(names[i]).second) positions.push_back(i);
  }
  return positions;
}

Json LearningRates(const loop::Trainer& trainer) {
  const std::vector<std::string> names = trainer.group_names();
  Json groups = Json::array();
  for (const size_t group : DistinctGroups(names)) {
    Json values = Json::array();
    for (int64_t i = 0; i < trainer.lr_plan().total_steps(); ++i) {
      values.push_back(trainer.lr_plan().At(i)[group]);
    }
    groups.push_back({{"group", names[group]}, {"values", std::move(values)}});
  }
  return groups;
}

// At most a dozen steps, the first and the last among them.
std::vector<int64_t> ShownSteps(int64_t total) {
  constexpr int64_t kRows = 12;
  std::vector<int64_t> steps;
  const int64_t rows = std::min(total, kRows);
  for (int64_t i = 0; i < rows; ++i) {
    steps.push_back(rows == 1 ? 0 : i * (total - 1) / (rows - 1));
  }
  return steps;
}

std::string RatesTable(const loop::Trainer& trainer) {
  const std::vector<std::string> names = trainer.group_names();
  const std::vector<size_t> groups = DistinctGroups(names);
  std::string table = absl::StrFormat("  %8s", "step");
  for (const size_t group : groups) {
    absl::StrAppend(&table, absl::StrFormat("  %12s", names[group]));
  }
  table += "\n";
  for (const int64_t step : ShownSteps(trainer.lr_plan().total_steps())) {
    const std::vector<double> rates = trainer.lr_plan().At(step);
    absl::StrAppend(&table, absl::StrFormat("  %8d", step));
    for (const size_t group : groups) {
      absl::StrAppend(&table, absl::StrFormat("  %12.6g", rates[group]));
    }
    table += "\n";
  }
  return table;
}

}  // namespace

Json DryRunJson(const recipe::Node& recipe, const Prepared& prepared,
                const loop::MemoryPlan* memory) {
  const loop::Trainer& trainer = *prepared.trainer;
  const ModelSize size = SizeOf(trainer.model());
  return {{"schema", 1},
          {"recipe", recipe.ToJson()},
          {"plan", plan::ToJson(prepared.plan)},
          {"lr", LearningRates(trainer)},
          {"model",
           {{"architecture", prepared.architecture},
            {"parameters", size.parameters},
            {"buffers", size.buffers},
            {"bytes", size.bytes}}},
          {"steps_per_epoch", trainer.steps_per_epoch()},
          {"epochs", trainer.hyperparams().max_epochs},
          {"memory", memory == nullptr ? Json() : loop::ToJson(*memory)}};
}

std::string DryRunText(const recipe::Node& recipe, const Prepared& prepared,
                       const loop::MemoryPlan* memory) {
  const loop::Trainer& trainer = *prepared.trainer;
  const ModelSize size = SizeOf(trainer.model());
  return absl::StrCat(
      "# recipe\n", recipe.ToYaml(), "\n# plan\n",
      plan::FormatPlan(prepared.plan), "\n# model\n  ", prepared.architecture,
      ": ", size.parameters, " parameters, ", size.buffers, " in buffers, ",
      size.bytes, " bytes\n\n# training\n  ", trainer.hyperparams().max_epochs,
      " epochs of ", trainer.steps_per_epoch(), " steps\n\n# learning rates\n",
      RatesTable(trainer),
      memory == nullptr
          ? ""
          : absl::StrCat("\n# memory\n", loop::FormatMemoryPlan(*memory)));
}

}  // namespace slipway
