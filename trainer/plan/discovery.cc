#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/plan/manifest.h"
#include "trainer/plan/manifest_reader.h"
#include "trainer/recipe/yaml.h"

namespace slipway::plan {
namespace {

namespace fs = std::filesystem;

constexpr char kFileName[] = "plugin.yaml";

std::optional<Manifest> Build(const std::optional<recipe::Node>& root,
                              const std::string& path, Problems& problems) {
  if (!root) return std::nullopt;
  return BuildManifest(*root, path, problems);
}

// The manifests at `folder`, or one level below it, by name.
std::vector<fs::path> ManifestsIn(const std::string& folder,
                                  Problems& problems) {
  const fs::path own = fs::path(folder) / kFileName;
  std::error_code error;
  if (fs::exists(own, error)) return {own};
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const fs::path path = entry->path() / kFileName;
    if (fs::exists(path, ignored)) found.push_back(path);
  }
  if (error) {
    problems.push_back(
        {.kind = "not_found",
         .message = absl::StrCat("the plugin folder \"", folder,
                                 "\" cannot be read: ", error.message())});
  }
  std::sort(found.begin(), found.end());
  return found;
}

void ComplainOfTwo(const Manifest& first, const Manifest& second,
                   Problems& problems) {
  problems.push_back(
      {.kind = "manifest",
       .message = absl::StrCat("two plugins have the id \"", first.id, "\""),
       .detail = absl::StrCat("version ", ToString(first.version),
                              " and version ", ToString(second.version)),
       .where = {first.MarkOf("id"), second.MarkOf("id")},
       .hint = "take one of their folders out of the search path",
       .plugins = {first.id}});
}

}  // namespace

std::optional<Manifest> ParseManifest(std::string_view text, std::string path,
                                      Problems& problems) {
  return Build(recipe::ParseYaml(text, path, problems, "manifest"), path,
               problems);
}

std::optional<Manifest> ReadManifest(const std::string& path,
                                     Problems& problems) {
  return Build(recipe::ReadYamlFile(path, problems, "manifest"), path,
               problems);
}

std::vector<Manifest> DiscoverManifests(const std::vector<std::string>& folders,
                                        Problems& problems) {
  std::set<fs::path> seen;
  std::map<std::string, Manifest> by_id;
  for (const std::string& folder : folders) {
    for (const fs::path& path : ManifestsIn(folder, problems)) {
      std::error_code error;
      if (!seen.insert(fs::weakly_canonical(path, error)).second) continue;
      std::optional<Manifest> manifest =
          ReadManifest(path.lexically_normal().string(), problems);
      if (!manifest) continue;
      const std::string id = manifest->id;
      const auto [first, is_new] = by_id.try_emplace(id, *std::move(manifest));
      if (!is_new) ComplainOfTwo(first->second, *manifest, problems);
    }
  }
  std::vector<Manifest> sorted;
  for (auto& [id, manifest] : by_id) sorted.push_back(std::move(manifest));
  return sorted;
}

}  // namespace slipway::plan
