#include "trainer/run_files.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/report/json_lines.h"
#include "trainer/report/tensorboard.h"

namespace slipway {
namespace {

// As in SuperGradients, it is watched unless the recipe says no.
bool WatchesTheSystem(const recipe::Node& recipe) {
  const recipe::Node* wanted =
      recipe.FindPath("training_hyperparams.sg_logger_params.monitor_system");
  return wanted == nullptr || !wanted->is_bool() || wanted->AsBool();
}

}  // namespace

absl::Status StartRunFolder(const std::string& path,
                            const RunFolderRequest& request,
                            const recipe::Node& recipe, const plan::Plan& plan,
                            loop::Trainer& trainer) {
  const absl::Status created = CreateRunFolder(
      path, request,
      {{"recipe.yaml", recipe.ToYaml()},
       {"plan.txt", plan::FormatPlan(plan)},
       {"plan.json", absl::StrCat(plan::ToJson(plan).dump(2), "\n")}});
  if (!created.ok()) return created;
  auto lines = JsonLinesReporter::Open(absl::StrCat(path, "/metrics.jsonl"));
  if (!lines.ok()) return lines.status();
  trainer.AddReporter(*std::move(lines));
  trainer.AddReporter(std::make_unique<TensorBoardReporter>(
      TensorBoardOptions{.folder = path,
                         .recipe = recipe.ToJson(),
                         .monitor_system = WatchesTheSystem(recipe)}));
  trainer.AddReporter(
      std::make_unique<ResultReporter>(absl::StrCat(path, "/result.json")));
  return absl::OkStatus();
}

}  // namespace slipway
