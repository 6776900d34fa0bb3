#include "trainer/flags.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "trainer/flag_set.h"

namespace slipway {
namespace {

constexpr char kUsage[] = R"(Trains a model from a recipe.

  bazel run //trainer -- --recipe=digits_resnet training_hyperparams.max_epochs=3

Overrides after the flags change the recipe:
  a.b=c          changes a value      +a.b=c   adds one      ~a.b  removes one
  group=choice   takes another file of a group (arch_params=...)
Short ones: lr, batch_size, val_batch_size, epochs, ema, resume, num_workers.

)";

// Flags as they are written.
struct RawFlags {
  std::string recipe_path;
  std::string plugin_path;
  std::string profile;
  std::string until;
};

FlagSet Table(Flags& flags, RawFlags& raw) {
  FlagSet table;
  table.Switch("help", "this text, and the recipes", &flags.help);
  table.Text("recipe", "NAME|FILE", "what to train", &flags.recipe);
  table.Text("recipe_path", "DIR[:DIR]", "where recipes are searched first",
             &raw.recipe_path);
  table.Text("plugin_path", "DIR[:DIR]", "where plugins are searched first",
             &raw.plugin_path);
  table.Text("run_dir", "DIR", "the folder for all files of this run",
             &flags.run_dir);
  table.Text("device", "auto|cpu|cuda", "instead of the recipe's `device`",
             &flags.device, {"auto", "cpu", "cuda"});
  table.Switch("dry_run",
               "show recipe, plan, learning rates and memory; train nothing",
               &flags.dry_run);
  table.Text("print_recipe", "yaml|json", "print the composed recipe and stop",
             &flags.print_recipe, {"yaml", "json"});
  table.Text("format", "text|json", "of --dry_run", &flags.format,
             {"text", "json"});
  table.Switch("allow_unknown", "unknown recipe keys are warnings",
               &flags.allow_unknown);
  table.Text("progress", "auto|bar|lines|none", "what the console shows",
             &flags.progress, {"auto", "bar", "lines", "none"});
  table.Switch("plugin_profile", "show the time spent in each plugin's hooks",
               &flags.plugin_profile);
  table.Text("replay", "RUN_DIR",
             "run that run again and compare its state, step by step",
             &flags.replay);
  table.Text("until", "STEP", "where --replay ends", &raw.until);
  table.Text("profile", "N|A-B",
             "a trace of N steps, or of the steps A to B, for chrome://tracing",
             &raw.profile);
  return table;
}

std::vector<std::string> Folders(const std::string& path) {
  return absl::StrSplit(path, ':', absl::SkipEmpty());
}

void ReadReplay(const RawFlags& raw, Flags& flags, Problems& problems) {
  if (!raw.until.empty()) {
    int64_t step = 0;
    if (flags.replay.empty()) {
      RefuseArgument("--until without --replay",
                     "name the run: --replay=RUN_DIR", problems);
    } else if (!absl::SimpleAtoi(raw.until, &step) || step < 0) {
      RefuseArgument(
          absl::StrCat("--until is \"", raw.until, "\", which is no step"),
          "give a number of optimizer steps from 0", problems);
    }
    flags.until = step;
  }
  if (flags.replay.empty()) return;
  if (!flags.recipe.empty()) {
    RefuseArgument("--replay and --recipe exclude each other",
                   "a replay takes the recipe.yaml of the run", problems);
  }
  if (!flags.run_dir.empty()) {
    RefuseArgument("--replay and --run_dir exclude each other",
                   "a replay writes nothing", problems);
  }
  flags.recipe = absl::StrCat(flags.replay, "/recipe.yaml");
}

}  // namespace

Flags ParseFlags(const std::vector<std::string>& arguments,
                 Problems& problems) {
  Flags flags;
  RawFlags raw;
  flags.overrides = Table(flags, raw).Parse(arguments, problems);
  flags.recipe_path = Folders(raw.recipe_path);
  flags.plugin_path = Folders(raw.plugin_path);
  flags.profile = loop::ParseProfiledSteps(raw.profile);
  if (!raw.profile.empty() && !flags.profile) {
    RefuseArgument(
        absl::StrCat("--profile=", raw.profile, ": these are no steps"),
        "give a number of steps, such as 10, or a range, such as 5-15",
        problems);
  }
  ReadReplay(raw, flags, problems);
  if (flags.recipe.empty() && !flags.help) {
    RefuseArgument("no recipe",
                   "name one: --recipe=digits_resnet (--help lists them)",
                   problems);
  }
  return flags;
}

std::string FlagsHelp() {
  Flags flags;
  RawFlags raw;
  return absl::StrCat(kUsage, "Flags:\n", Table(flags, raw).Help());
}

}  // namespace slipway
