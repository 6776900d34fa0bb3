#include "trainer/locations.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_split.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

// The repositories beneath a program's runfiles, ours first: its name there
// depends on who builds.
std::vector<fs::path> Runfiles(const std::string& executable) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(executable + ".runfiles", error)) {
    folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::vector<std::string> FirstThatExists(const std::vector<fs::path>& folders) {
  std::error_code error;
  for (const fs::path& folder : folders) {
    if (fs::is_directory(folder, error)) {
      return {folder.lexically_normal().string()};
    }
  }
  return {};
}

}  // namespace

std::string ExecutablePath() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

Locations FindLocations(const std::string& executable) {
  const fs::path program = fs::path(executable).parent_path();
  std::vector<fs::path> recipes, plugins;
  for (const fs::path& repository : Runfiles(executable)) {
    recipes.push_back(repository / "recipes");
    plugins.push_back(repository / "plugins");
  }
  plugins.push_back(program / "../plugins");
  recipes.push_back(program / "../share/slipway/recipes");
  plugins.push_back(program / "../lib/slipway/plugins");
  return {FirstThatExists(recipes), FirstThatExists(plugins)};
}

std::vector<std::string> PluginFolders(const std::vector<std::string>& flag,
                                       const char* environment,
                                       const Locations& locations) {
  std::vector<std::string> folders = flag;
  if (environment != nullptr) {
    for (const auto& folder :
         absl::StrSplit(environment, ':', absl::SkipEmpty())) {
      folders.emplace_back(folder);
    }
  }
  folders.insert(folders.end(), locations.plugin_folders.begin(),
                 locations.plugin_folders.end());
  return folders;
}

}  // namespace slipway
