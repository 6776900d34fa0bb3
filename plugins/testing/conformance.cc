// Checks a plugin as every plugin is checked: see README.md.
//
//   conformance [FLAGS] PLUGIN_DIR [REQUIRED_DIR...]
//
// PLUGIN_DIR holds plugin.yaml and the library; the path of the former does,
// too. The others are plugins that it requires. Each check has a process of its
// own. Exit codes: 0 all is well; 1 a check failed; 2 bad usage.
#include <stdlib.h>

#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "plugins/testing/check.h"
#include "plugins/testing/forked.h"
#include "trainer/flag_set.h"
#include "trainer/recipe/yaml.h"

namespace slipway::testing {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr absl::Duration kLimit = absl::Minutes(4);

struct Flags {
  std::string check;
  std::string seed = "1";
  std::string recipe;
  std::string plugin_path;
  std::string write_state;
  bool list = false;
  bool help = false;
};

void Add(FlagSet& set, Flags& flags) {
  set.Text("check", "PLG_001,...", "run these checks alone", &flags.check);
  set.Text("seed", "N", "of what is drawn at random", &flags.seed);
  set.Text("recipe", "FILE", "keys for the trainings, and the plugin's",
           &flags.recipe);
  set.Text("plugin_path", "DIR:DIR", "where the plugins lie that it requires",
           &flags.plugin_path);
  set.Text("write_state", "FILE",
           "instead of checks: train, and write a checkpoint with its state",
           &flags.write_state);
  set.Switch("list", "show the checks and stop", &flags.list);
  set.Switch("help", "show this and stop", &flags.help);
}

// Each is a folder, or one of a plugin's files, of which one is plugin.yaml.
std::vector<std::string> FoldersIn(const std::vector<std::string>& arguments) {
  std::vector<std::string> folders;
  for (const std::string& argument : arguments) {
    const std::filesystem::path path(argument);
    if (path.filename() == "plugin.yaml") {
      const std::string folder = path.parent_path();
      folders.push_back(folder.empty() ? "." : folder);
    } else if (std::filesystem::is_directory(path)) {
      folders.push_back(argument);
    }
  }
  return folders;
}

int Refuse(const Problems& problems) {
  std::cerr << FormatProblems(problems);
  return kUsage;
}

bool Wanted(const Check& check, const Flags& flags) {
  if (flags.check.empty()) return true;
  for (const auto id : absl::StrSplit(flags.check, ',')) {
    if (check.id == std::string(id) || check.name == std::string(id)) {
      return true;
    }
  }
  return false;
}

void CheckNames(const Flags& flags, Problems& problems) {
  std::vector<std::string> known;
  for (const Check& check : AllChecks()) known.push_back(check.id);
  for (const auto id : absl::StrSplit(flags.check, ',', absl::SkipEmpty())) {
    const std::string text(id);
    bool found = false;
    for (const Check& check : AllChecks()) {
      found = found || check.id == text || check.name == text;
    }
    if (found) continue;
    RefuseArgument(absl::StrCat("no check \"", text, "\""),
                   DidYouMean(text, known), problems);
  }
}

int List() {
  for (const Check& check : AllChecks()) {
    std::cout << check.id << " " << check.name << ": a plugin that fails "
              << check.fails << "\n";
  }
  return 0;
}

// A folder of its own, gone in the end.
class Scratch {
 public:
  Scratch() {
    const char* const given = getenv("TEST_TMPDIR");
    path_ = given != nullptr ? given
                             : std::filesystem::temp_directory_path().string();
    path_ += "/conformance.XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string Indented(const std::string& label, std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return absl::StrCat("  ", label, ": ",
                      absl::StrReplaceAll(text, {{"\n", "\n    "}}), "\n");
}

// False if it failed.
bool Run(const Check& check, Subject& subject) {
  const Scratch scratch;
  subject.scratch = scratch.path();
  const absl::Status status =
      RunForked([&] { return check.run(subject); }, kLimit);
  const bool failed = !status.ok() && !absl::IsCancelled(status);
  std::cout << absl::StrFormat("%s %-6s %s", check.id, failed ? "failed" : "ok",
                               check.name);
  if (absl::IsCancelled(status)) {
    std::cout << " (nothing to check: " << status.message() << ")";
  }
  std::cout << "\n";
  if (failed) {
    std::cout << Indented("reason", std::string(status.message()))
              << Indented("remedy", check.remedy);
  }
  std::cout << std::flush;
  return !failed;
}

// What cannot be read has failed the first check, and is not checked further.
int Unreadable(const Problems& problems) {
  const Check& first = AllChecks().front();
  std::cout << absl::StrFormat("%s failed %s\n", first.id, first.name)
            << Indented("reason", FormatProblems(problems))
            << Indented("remedy", first.remedy);
  return kFailed;
}

int WriteState(Subject& subject, const std::string& path) {
  const Scratch scratch;
  const absl::Status status = RunForked(
      [&]() -> absl::Status {
        HarnessOptions options = Training(subject);
        options.run_dir = scratch.path();
        const auto harness = Trained(std::move(options));
        if (!harness.ok()) return harness.status();
        std::filesystem::copy_file(
            scratch.path() + "/ckpt_epoch_1.pth", path,
            std::filesystem::copy_options::overwrite_existing);
        return absl::OkStatus();
      },
      kLimit);
  if (status.ok()) return 0;
  std::cerr << status.message() << "\n";
  return kFailed;
}

int CheckAll(const Flags& flags, Subject& subject) {
  int run = 0;
  int failed = 0;
  for (const Check& check : AllChecks()) {
    if (!Wanted(check, flags)) continue;
    ++run;
    if (!Run(check, subject)) ++failed;
  }
  std::cout << subject.manifest.id << ": " << run - failed << " of " << run
            << " checks passed\n";
  return failed == 0 ? 0 : kFailed;
}

int Main(const std::vector<std::string>& arguments) {
  Flags flags;
  FlagSet set;
  Add(set, flags);
  Problems problems;
  const std::vector<std::string> folders =
      FoldersIn(set.Parse(arguments, problems));
  if (flags.help) {
    std::cerr << "conformance [FLAGS] PLUGIN_DIR [REQUIRED_DIR...]\n"
              << set.Help();
    return 0;
  }
  if (flags.list) return List();
  Subject subject;
  if (!absl::SimpleAtoi(flags.seed, &subject.seed)) {
    RefuseArgument(absl::StrCat("--seed: \"", flags.seed, "\" is no number"),
                   "give it a whole number", problems);
  }
  CheckNames(flags, problems);
  if (folders.empty()) {
    RefuseArgument("no plugin", "name the folder of its plugin.yaml", problems);
  }
  if (!flags.recipe.empty()) {
    std::optional<recipe::Node> recipe =
        recipe::ReadYamlFile(flags.recipe, problems);
    if (recipe) subject.recipe = *std::move(recipe);
  }
  if (HasErrors(problems)) return Refuse(problems);
  subject.folder = folders.front();
  subject.plugin_path =
      absl::StrSplit(flags.plugin_path, ':', absl::SkipEmpty());
  subject.plugin_path.insert(subject.plugin_path.end(), folders.begin() + 1,
                             folders.end());
  std::optional<plan::Manifest> manifest =
      plan::ReadManifest(subject.folder + "/plugin.yaml", problems);
  if (!manifest) return Unreadable(problems);
  subject.manifest = *std::move(manifest);
  if (!flags.write_state.empty()) return WriteState(subject, flags.write_state);
  return CheckAll(flags, subject);
}

}  // namespace
}  // namespace slipway::testing

int main(int argc, char** argv) {
  return slipway::testing::Main(
      std::vector<std::string>(argv + 1, argv + argc));
}
