#include "trainer/dry_run.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/planned_rates.h"

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

Json LearningRates(const loop::Trainer& trainer) {
  const int64_t total = trainer.lr_plan().total_steps();
  Json groups = Json::array();
  for (const PlannedRates& group :
       PlanRates(trainer, SpreadSteps(total, total))) {
    groups.push_back({{"group", group.group}, {"values", group.values}});
  }
  return groups;
}

std::string RatesTable(const loop::Trainer& trainer) {
  const std::vector<int64_t> steps =
      SpreadSteps(trainer.lr_plan().total_steps(), /*most=*/12);
  const std::vector<PlannedRates> groups = PlanRates(trainer, steps);
  std::string table = absl::StrFormat("  %8s", "step");
  for (const PlannedRates& group : groups) {
    absl::StrAppend(&table, absl::StrFormat("  %12s", group.group));
  }
  table += "\n";
  for (size_t row = 0; row < steps.size(); ++row) {
    absl::StrAppend(&table, absl::StrFormat("  %8d", steps[row]));
    for (const PlannedRates& group : groups) {
      absl::StrAppend(&table, absl::StrFormat("  %12.6g", group.values[row]));
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
