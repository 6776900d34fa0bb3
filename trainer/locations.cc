#include "trainer/locations.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_split.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

// Adds the repositories in a runfiles folder: what ours is called there depends
// on who builds.
void AddRepositories(const std::string& runfiles,
                     std::vector<fs::path>& folders) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(runfiles, error)) {
    found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  folders.insert(folders.end(), found.begin(), found.end());
}

std::vector<std::string> FirstThatExists(const std::vector<fs::path>& folders) {
  std::error_code error;
  for (const fs::path& folder : folders) {
    if (fs::is_directory(folder, error)) return {folder.string()};
  }
  return {};
}

// All repositories in the runfiles that a program may have.
std::vector<fs::path> Repositories(const std::string& executable,
                                   const char* runfiles) {
  std::vector<fs::path> repositories;
  if (runfiles != nullptr) AddRepositories(runfiles, repositories);
  AddRepositories(executable + ".runfiles", repositories);
  return repositories;
}

}  // namespace

std::string ExecutablePath() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

Locations FindLocations(const std::string& executable, const char* runfiles) {
  const std::vector<fs::path> repositories = Repositories(executable, runfiles);
  const fs::path above = fs::path(executable).parent_path().parent_path();
  std::vector<fs::path> recipes, plugins;
  for (const fs::path& repository : repositories) {
    recipes.push_back(repository / "recipes");
    plugins.push_back(repository / "plugins");
  }
  plugins.push_back(above / "plugins");
  recipes.push_back(above / "share/slipway/recipes");
  plugins.push_back(above / "lib/slipway/plugins");
  return {FirstThatExists(recipes), FirstThatExists(plugins)};
}

std::string FindTrainer(const std::string& executable, const char* runfiles) {
  const fs::path folder = fs::path(executable).parent_path();
  std::vector<fs::path> candidates;
  for (const fs::path& repository : Repositories(executable, runfiles)) {
    candidates.push_back(repository / "trainer/trainer");
  }
  candidates.push_back(folder / "trainer");
  candidates.push_back(folder.parent_path() / "trainer/trainer");
  std::error_code error;
  for (const fs::path& candidate : candidates) {
    if (fs::is_regular_file(candidate, error)) return candidate.string();
  }
  return "";
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
