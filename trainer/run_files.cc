#include "trainer/run_files.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/report/json_lines.h"

namespace slipway {

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
  trainer.AddReporter(
      std::make_unique<ResultReporter>(absl::StrCat(path, "/result.json")));
  return absl::OkStatus();
}

}  // namespace slipway
