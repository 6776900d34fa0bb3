// Where recipes and plugins lie, relative to the program.
//
//   Locations here = FindLocations(ExecutablePath(), getenv("RUNFILES_DIR"));
//   here.recipe_folders;   // {"/opt/slipway/share/slipway/recipes"}
//
// Three layouts are known: what `bazel run` and `bazel test` put beside a
// program (its runfiles), bazel-bin, and an installed prefix. Asks the file
// system only.
#ifndef SLIPWAY_TRAINER_LOCATIONS_H_
#define SLIPWAY_TRAINER_LOCATIONS_H_

#include <string>
#include <vector>

namespace slipway {

struct Locations {
  // In the order in which they are to be searched; only folders that exist.
  std::vector<std::string> recipe_folders;
  std::vector<std::string> plugin_folders;
};

// The absolute path of this program, symbolic links resolved.
std::string ExecutablePath();

// Of the layouts in which a program at `executable` may stand, the first that
// has each kind of folder: the runfiles that `runfiles` names (null for none),
// its own (EXECUTABLE.runfiles), in both as REPOSITORY/recipes and
// REPOSITORY/plugins; bazel-bin (../plugins); a prefix
// (../share/slipway/recipes, ../lib/slipway/plugins).
Locations FindLocations(const std::string& executable, const char* runfiles);

// The trainer's program, found from another program at `executable`: in the
// same runfiles (`runfiles` as above), beside it (a prefix's bin), or beside
// its folder (bazel-bin). Empty if it is nowhere.
std::string FindTrainer(const std::string& executable, const char* runfiles);

// The folders in which plugins are searched: `flag`, then those of
// $SLIPWAY_PLUGIN_PATH (a list like `a:b`; null for none), then the program's.
std::vector<std::string> PluginFolders(const std::vector<std::string>& flag,
                                       const char* environment,
                                       const Locations& locations);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_LOCATIONS_H_
