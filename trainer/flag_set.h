// Command lines: `--name=value` flags and positional arguments, every mistake
// told at once.
//
//   std::string recipe;
//   bool dry_run = false;
//   FlagSet flags;
//   flags.Text("recipe", "NAME|FILE", "what to train", &recipe);
//   flags.Switch("dry_run", "show the plan and stop", &dry_run);
//   std::vector<std::string> overrides = flags.Parse(arguments, problems);
//
// Flags and positional arguments may be mixed; `--` is skipped, and everything
// after it is positional. `--name value`, `-name`, `--noswitch` and
// `--switch=false` are understood as gflags understands them; unlike there, an
// unknown flag is a problem with the nearest name, not the end of the process.
#ifndef SLIPWAY_TRAINER_FLAG_SET_H_
#define SLIPWAY_TRAINER_FLAG_SET_H_

#include <string>
#include <string_view>
#include <vector>

#include "trainer/recipe/problem.h"

namespace slipway {

class FlagSet {
 public:
  // `form` is what the help shows after `=`. `choices` empty: any text. The
  // values are borrowed; they keep their default until Parse finds the flag.
  void Text(std::string name, std::string form, std::string help,
            std::string* value, std::vector<std::string> choices = {});
  void Switch(std::string name, std::string help, bool* value);

  // The positional arguments, in order. Each problem's place is the number of
  // the argument on the command line, from 1.
  std::vector<std::string> Parse(const std::vector<std::string>& arguments,
                                 Problems& problems) const;

  // A line per flag, in the order in which they were added.
  std::string Help() const;

 private:
  struct Flag {
    std::string name;
    std::string form;
    std::string help;
    std::string* text = nullptr;
    bool* on = nullptr;
    std::vector<std::string> choices;
  };
  class Parser;
  const Flag* Find(std::string_view name) const;
  std::vector<std::string> Names() const;

  std::vector<Flag> flags_;
};

// Appends an error about what Parse cannot judge: a value that is no number,
// flags that exclude each other.
void RefuseArgument(std::string message, std::string hint, Problems& problems);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_FLAG_SET_H_
