#include "trainer/inspect/catalog.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace slipway::inspect {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// DiscoverManifests looks in a folder and one level below it.
bool LiesIn(const plan::Manifest& manifest, const std::string& folder) {
  const fs::path own = fs::path(manifest.path).parent_path();
  const fs::path searched = fs::path(folder).lexically_normal();
  // "a/b/" and "a/b" are one folder.
  const fs::path plain =
      searched.has_filename() ? searched : searched.parent_path();
  return own == plain || own.parent_path() == plain;
}

std::string OriginOf(const plan::Manifest& manifest,
                     const std::vector<SearchedFolders>& searched) {
  for (const SearchedFolders& part : searched) {
    for (const std::string& folder : part.folders) {
      if (LiesIn(manifest, folder)) return part.origin;
    }
  }
  return "recipe";
}

}  // namespace

std::vector<Found> WithOrigins(const std::vector<plan::Manifest>& manifests,
                               const std::vector<SearchedFolders>& searched) {
  std::vector<Found> found;
  for (const plan::Manifest& manifest : manifests) {
    found.push_back({manifest, OriginOf(manifest, searched)});
  }
  return found;
}

std::string FormatCatalog(const std::vector<Found>& plugins) {
  if (plugins.empty()) return "no plugins\n";
  size_t width = 0;
  for (const Found& found : plugins) {
    width = std::max(width, found.manifest.id.size());
  }
  std::string text;
  for (const auto& [manifest, origin] : plugins) {
    absl::StrAppendFormat(&text, "%-*s  %-8s %-11s %s\n",
                          static_cast<int>(width), manifest.id,
                          ToString(manifest.version),
                          std::string(Name(manifest.status)), manifest.summary);
    absl::StrAppendFormat(&text, "%-*s  %s: %s\n", static_cast<int>(width), "",
                          origin, manifest.path);
  }
  return text;
}

Json CatalogJson(const std::vector<Found>& plugins, const Problems& problems) {
  Json list = Json::array();
  for (const auto& [manifest, origin] : plugins) {
    list.push_back({{"id", manifest.id},
                    {"version", ToString(manifest.version)},
                    {"status", std::string(Name(manifest.status))},
                    {"summary", manifest.summary},
                    {"manifest", manifest.path},
                    {"library", manifest.LibraryPath()},
                    {"origin", origin}});
  }
  return {{"schema", 1},
          {"plugins", std::move(list)},
          {"problems", slipway::ToJson(problems)}};
}

}  // namespace slipway::inspect
