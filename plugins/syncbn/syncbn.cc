#include "plugins/syncbn/syncbn.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "plugins/syncbn/sync_batch_norm.h"
#include "trainer/dist/process_group.h"
#include "trainer/nn/layers/norm.h"

namespace slipway::syncbn {
namespace {

void Warn(ModelContext& context, std::string message, std::string detail) {
  context.Report({.kind = "value",
                  .severity = Severity::kWarning,
                  .message = std::move(message),
                  .detail = std::move(detail),
                  .plugins = {"syncbn"}});
}

// What cannot be looked into may hold layers that stay as they are.
void WarnOfOpaqueModules(ModelContext& context) {
  for (const auto& [path, module] : context.model().NamedModules()) {
    if (!module->opaque()) continue;
    Warn(context,
         absl::StrCat("batch normalisation inside \"", path,
                      "\" is not synchronised"),
         absl::StrCat("it is a ", module->kind(),
                      ", whose layers cannot be replaced"));
  }
}

// Paths from the root; found first, since replacing changes the tree.
std::vector<std::string> BatchNormPaths(nn::Module& model) {
  std::vector<std::string> paths;
  for (const auto& [path, module] : model.NamedModules()) {
    const bool replaceable = !path.empty() && !module->opaque();
    if (replaceable && nn::OptionsOf<nn::BatchNormOptions>(*module)) {
      paths.push_back(path);
    }
  }
  return paths;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> SyncBn::Create(
    const recipe::Node& config) {
  return std::make_unique<SyncBn>();
}

absl::Status SyncBn::TransformModel(ModelContext& context) {
  if (context.world_size() == 1) return absl::OkStatus();
  nn::Module& model = context.model();
  WarnOfOpaqueModules(context);
  const std::vector<std::string> paths = BatchNormPaths(model);
  if (paths.empty()) {
    Warn(context, "sync_bn has no effect",
         "the model has no batch normalisation layer that can be replaced");
  }
  for (const std::string& path : paths) {
    const nn::Module& layer = *model.Find(path);
    auto replaced = model.Replace(
        path, SyncBatchNormLayer(*nn::OptionsOf<nn::BatchNormOptions>(layer),
                                 layer, dist::kWorldGroup));
    if (!replaced.ok()) return replaced.status();
  }
  return absl::OkStatus();
}

}  // namespace slipway::syncbn

SLIPWAY_PLUGIN("syncbn", "1.0.0", slipway::syncbn::SyncBn);
