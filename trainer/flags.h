// The trainer's command line.
//
//   Problems problems;
//   const Flags flags = ParseFlags({"--recipe=digits_resnet", "epochs=3"},
//                                  problems);
//
// Values only; the flags are documented by their help texts in flags.cc.
#ifndef SLIPWAY_TRAINER_FLAGS_H_
#define SLIPWAY_TRAINER_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/loop/profiled_steps.h"
#include "trainer/recipe/problem.h"

namespace slipway {

struct Flags {
  bool help = false;
  std::string recipe;
  std::vector<std::string> recipe_path;  // folders
  std::vector<std::string> plugin_path;  // folders
  std::string run_dir;
  std::string device;  // empty: the recipe's
  std::string progress = "auto";
  std::string format = "text";
  std::string print_recipe;  // empty, "yaml" or "json"
  bool allow_unknown = false;
  bool dry_run = false;
  bool plugin_profile = false;
  std::optional<loop::ProfiledSteps> profile;
  // The folder of a run to run again, whose recipe.yaml is then `recipe`;
  // empty: none.
  std::string replay;
  std::optional<int64_t> until;  // a step of that run
  // `a.b=c`, `+a.b=c`, `~a.b`, `group=choice`, in order.
  std::vector<std::string> overrides;
};

// Appends a problem for everything that is wrong, a missing recipe too.
Flags ParseFlags(const std::vector<std::string>& arguments, Problems& problems);

// How to call the trainer, with an example, and a line per flag.
std::string FlagsHelp();

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_FLAGS_H_
