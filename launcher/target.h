// What is launched: the trainer, or a program.
//
//   std::optional<Target> target = FindTarget(
//       {"python3", "train.py"}, {.path = getenv("PATH"), ...}, problems);
//   target->argv;   // {"/usr/bin/python3", "train.py"}
//
// Looks for files; starts nothing.
#ifndef SLIPWAY_LAUNCHER_TARGET_H_
#define SLIPWAY_LAUNCHER_TARGET_H_

#include <optional>
#include <string>
#include <vector>

#include "trainer/recipe/problem.h"

namespace slipway::launcher {

struct Target {
  // The trainer of this Slipway, whose recipe the launcher can read.
  bool is_trainer = false;
  // argv[0] is a path that can be executed.
  std::vector<std::string> argv;

  // Without argv[0].
  std::vector<std::string> arguments() const {
    return {argv.begin() + 1, argv.end()};
  }
};

struct TargetSearch {
  std::string path;     // $PATH
  std::string trainer;  // of FindTrainer; empty: there is none
};

// Of the words behind `--`. A flag or an override (a.b=c, +a.b=c, ~a.b) begins
// the trainer's command line; anything else is a program, by a path with a `/`
// or by its name on the path. Nullopt with an error appended if there is no
// such program, or none that may be executed. Needs words.
std::optional<Target> FindTarget(const std::vector<std::string>& words,
                                 const TargetSearch& search,
                                 Problems& problems);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_TARGET_H_
