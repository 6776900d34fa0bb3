#include "trainer/plan/plugin_path.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace slipway::plan {
namespace {

using recipe::Node;

void AddFolder(const Node& item, std::vector<std::string>& folders,
               Problems& problems) {
  if (!item.is_string() || item.AsString().empty()) {
    problems.push_back(
        {.kind = "value",
         .message = absl::StrCat("plugins.path has ", item.ToDisplay()),
         .detail = "expected a folder with plugins",
         .where = {item.mark()}});
    return;
  }
  // "command line" has no folder, which leaves the path as it stands.
  const std::filesystem::path beside =
      std::filesystem::path(item.mark().file).parent_path();
  folders.push_back((beside / item.AsString()).lexically_normal().string());
}

}  // namespace

std::vector<std::string> PluginPathOf(const Node& recipe, Problems& problems) {
  std::vector<std::string> folders;
  const Node* const path = recipe.FindPath("plugins.path");
  if (path == nullptr || path->is_null()) return folders;
  if (!path->is_list()) AddFolder(*path, folders, problems);
  for (const Node& item : path->items()) AddFolder(item, folders, problems);
  return folders;
}

}  // namespace slipway::plan
