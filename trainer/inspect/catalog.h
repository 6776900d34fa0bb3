// The plugins that can be found, as a table.
//
//   std::vector<Found> found = {{manifest, "program"}, ...};
//   std::cout << FormatCatalog(found);
//
// Functions only.
#ifndef SLIPWAY_TRAINER_INSPECT_CATALOG_H_
#define SLIPWAY_TRAINER_INSPECT_CATALOG_H_

#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "trainer/plan/manifest.h"
#include "trainer/recipe/problem.h"

namespace slipway::inspect {

struct Found {
  plan::Manifest manifest;
  // What named the folder in which it lies: "flag" (--plugin_path),
  // "environment" ($SLIPWAY_PLUGIN_PATH), "program" (beside it, or the prefix
  // it is installed in) or "recipe" (plugins.path).
  std::string origin;
};

// Folders, and what named them.
struct SearchedFolders {
  std::string origin;
  std::vector<std::string> folders;
};

// `manifests`, each with the origin of the first folder that it lies beneath.
std::vector<Found> WithOrigins(const std::vector<plan::Manifest>& manifests,
                               const std::vector<SearchedFolders>& searched);

// A line per plugin: id, version, status, summary; below it where it lies.
std::string FormatCatalog(const std::vector<Found>& plugins);

// The contracts' document of `inspect` without an argument.
nlohmann::ordered_json CatalogJson(const std::vector<Found>& plugins,
                                   const Problems& problems);

}  // namespace slipway::inspect

#endif  // SLIPWAY_TRAINER_INSPECT_CATALOG_H_
