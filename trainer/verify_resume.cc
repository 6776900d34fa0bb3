// verify_resume: shows that an interrupted training goes on as if nothing had
// happened.
//
//   bazel run //trainer:verify_resume -- --recipe=digits_resnet --rounds=8
//
// Trains a recipe once without interruption. Then, in each round, starts the
// trainer again, interrupts it at a named point or a random moment, by SIGTERM
// (which saves) or SIGKILL (as a power cut), resumes it with `resume=true` and
// compares its last checkpoint with the first training's, part by part. The
// table goes to standard output.
//
// Every training is a process of its own with one thread for tensor operations,
// so that the states must be equal bit for bit. A recipe is cut down to a few
// small epochs; overrides on the command line come after that and win.
//
// Exit codes: 0 all equal; 1 a round differs or failed; 2 bad usage or a recipe
// that is refused.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/previous.h"
#include "trainer/flag_set.h"
#include "trainer/locations.h"
#include "trainer/loop/state_hash.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"
#include "trainer/recipe/yaml.h"
#include "trainer/verify_resume_process.h"
#include "trainer/verify_resume_rounds.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using loop::StateHashes;
using nlohmann::json;

constexpr int kRefused = 2;
constexpr size_t kPartsShown = 4;

// A few small epochs; each with something before and after its middle.
constexpr const char* kSmall[] = {
    "++training_hyperparams.max_epochs=3",
    "++training_hyperparams.max_train_batches=6",
    "++training_hyperparams.max_valid_batches=1",
};

struct Settings {
  std::string recipe;
  std::string rounds = "4";
  std::string seed;
  std::string recipe_path;
  std::string plugin_path;
  std::string device;
  bool help = false;
  std::vector<std::string> overrides;

  int64_t random_rounds = 0;
  uint64_t random_seed = 0;
};

FlagSet Table(Settings& settings) {
  FlagSet table;
  table.Switch("help", "this text", &settings.help);
  table.Text("recipe", "NAME|FILE", "what to train", &settings.recipe);
  table.Text("rounds", "N", "interruptions at random moments (default 4)",
             &settings.rounds);
  table.Text("seed", "N", "of the random moments; by default a new one",
             &settings.seed);
  table.Text("recipe_path", "DIR[:DIR]", "where recipes are searched first",
             &settings.recipe_path);
  table.Text("plugin_path", "DIR[:DIR]", "where plugins are searched first",
             &settings.plugin_path);
  table.Text("device", "auto|cpu|cuda", "instead of the recipe's `device`",
             &settings.device, {"auto", "cpu", "cuda"});
  return table;
}

Settings ReadSettings(const std::vector<std::string>& arguments,
                      Problems& problems) {
  Settings settings;
  settings.overrides = Table(settings).Parse(arguments, problems);
  if (!absl::SimpleAtoi(settings.rounds, &settings.random_rounds) ||
      settings.random_rounds < 0) {
    RefuseArgument(absl::StrCat("--rounds is \"", settings.rounds, "\""),
                   "give the number of random interruptions, from 0", problems);
  }
  if (settings.seed.empty()) {
    settings.random_seed = std::random_device()();
  } else if (!absl::SimpleAtoi(settings.seed, &settings.random_seed)) {
    RefuseArgument(absl::StrCat("--seed is \"", settings.seed, "\""),
                   "give a whole number from 0", problems);
  }
  if (settings.recipe.empty()) {
    RefuseArgument("no recipe", "name one: --recipe=digits_resnet", problems);
  }
  return settings;
}

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The last lines of what a process said.
std::string Tail(const std::string& text) {
  size_t start = text.size();
  for (int lines = 0; lines < 6 && start > 0; ++lines) {
    start = text.rfind('\n', start - 1);
    if (start == std::string::npos) return text;
  }
  return text.substr(start + 1);
}

// Folders and processes of the trainings, and what is known of the first.
class Verification {
 public:
  Verification(const Settings& settings, std::string folder)
      : settings_(settings),
        folder_(std::move(folder)),
        trainer_(fs::path(ExecutablePath()).parent_path() / "trainer") {}

  // The training that nothing interrupts. Its exit code.
  int RunWhole() {
    const std::string run = Run("whole");
    const int exit_code = Start(run, {}, "").Wait();
    if (exit_code != 0) {
      std::cerr << ReadText(Output(run));
      return exit_code;
    }
    const json result = json::parse(ReadText(run + "/result.json"));
    shape_ = {.epochs = result.at("epochs"),
              .steps = result.at("steps"),
              .accumulate = Accumulate(run)};
    seconds_ = result.at("seconds");
    absl::StatusOr<Checkpoint> state = Latest(run);
    if (!state.ok()) {
      std::cerr << "error: " << state.status().message() << "\n";
      return 1;
    }
    expected_ = loop::HashState(*state);
    return 0;
  }

  const RunShape& shape() const { return shape_; }

  RoundResult RunRound(size_t number, const Interruption& interruption) {
    RoundResult round = {
        .interruption = interruption, .resumed_from = "", .result = ""};
    const std::string run = Run(absl::StrCat("round_", number));
    const bool interrupted = Interrupt(run, interruption);
    absl::StatusOr<Checkpoint> state = Latest(run);
    round.resumed_from = !interrupted ? "not met"
                         : state.ok() ? absl::StrCat("step ", state->step)
                                      : "the start";
    if (interrupted && !Finish(run, round)) return round;
    Compare(run, round);
    return round;
  }

 private:
  std::string Run(const std::string& name) const {
    return absl::StrCat(folder_, "/", name);
  }
  static std::string Output(const std::string& run) { return run + ".log"; }

  ChildProcess Start(const std::string& run,
                     const std::vector<std::string>& overrides,
                     const std::string& fault) const {
    std::vector<std::string> arguments = {
        "--recipe=" + settings_.recipe, "--run_dir=" + run, "--progress=none"};
    if (!settings_.recipe_path.empty()) {
      arguments.push_back("--recipe_path=" + settings_.recipe_path);
    }
    if (!settings_.plugin_path.empty()) {
      arguments.push_back("--plugin_path=" + settings_.plugin_path);
    }
    if (!settings_.device.empty()) {
      arguments.push_back("--device=" + settings_.device);
    }
    arguments.insert(arguments.end(), std::begin(kSmall), std::end(kSmall));
    arguments.insert(arguments.end(), settings_.overrides.begin(),
                     settings_.overrides.end());
    arguments.insert(arguments.end(), overrides.begin(), overrides.end());
    return ChildProcess(trainer_, arguments,
                        {{"OMP_NUM_THREADS", "1"}, {"SLIPWAY_FAULT", fault}},
                        Output(run));
  }

  // Whether the training was interrupted, rather than done before.
  bool Interrupt(const std::string& run, const Interruption& interruption) {
    ChildProcess child = Start(run, {}, interruption.fault);
    if (interruption.fault.empty()) {
      WaitForTraining(run, child);
      std::this_thread::sleep_for(
          std::chrono::duration<double>(interruption.moment * seconds_));
      child.Signal(interruption.signal);
    }
    return child.Wait() == 128 + interruption.signal;
  }

  // A training has begun when its metrics are there.
  static void WaitForTraining(const std::string& run, ChildProcess& child) {
    while (child.running() && !fs::exists(run + "/metrics.jsonl")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  // Trains to the end; false, with the reason in `round`, if that failed.
  bool Finish(const std::string& run, RoundResult& round) {
    const int exit_code = Start(run, {"resume=true"}, "").Wait();
    if (exit_code == 0) return true;
    round.result = absl::StrCat("failed with exit code ", exit_code, ":\n",
                                Tail(ReadText(Output(run))));
    return false;
  }

  void Compare(const std::string& run, RoundResult& round) const {
    const absl::StatusOr<Checkpoint> state = Latest(run);
    if (!state.ok()) {
      round.result = std::string(state.status().message());
      return;
    }
    const StateHashes hashes = loop::HashState(*state);
    std::vector<std::string> parts = loop::Differences(expected_, hashes);
    round.ok = parts.empty();
    const size_t count = parts.size();
    parts.resize(std::min(count, kPartsShown));
    round.result =
        count == 0 ? "equal"
                   : absl::StrCat(count, " of ", hashes.size(),
                                  " parts differ: ", absl::StrJoin(parts, ", "),
                                  count > kPartsShown ? ", ..." : "");
  }

  static absl::StatusOr<Checkpoint> Latest(const std::string& run) {
    absl::StatusOr<FoundCheckpoint> found =
        ReadCheckpointOrPrevious(run + "/ckpt_latest.pth");
    if (!found.ok()) return found.status();
    return std::move(found->checkpoint);
  }

  // As the run's recipe says, whoever set it.
  static int64_t Accumulate(const std::string& run) {
    Problems problems;
    const std::optional<recipe::Node> recipe =
        recipe::ReadYamlFile(run + "/recipe.yaml", problems);
    const recipe::Node* value =
        recipe ? recipe->FindPath("training_hyperparams.batch_accumulate")
               : nullptr;
    return value != nullptr && value->is_int() ? value->AsInt() : 1;
  }

  const Settings& settings_;
  const std::string folder_;
  const std::string trainer_;
  RunShape shape_;
  double seconds_ = 0;
  StateHashes expected_;
};

int Verify(const Settings& settings, const std::string& folder) {
  Verification verification(settings, folder);
  std::cerr << "one thread for tensor operations: states must be equal bit for "
               "bit\nrandom moments: --seed="
            << settings.random_seed << "\n";
  if (const int exit_code = verification.RunWhole(); exit_code != 0) {
    std::cerr << "error: the training without interruption failed\n";
    return exit_code == kRefused ? kRefused : 1;
  }
  const RunShape& shape = verification.shape();
  std::cerr << "without interruption: " << shape.epochs << " epochs, "
            << shape.steps << " steps\n";
  if (shape.accumulate == 1) {
    std::cerr << "note: steps of one batch have no middle; "
                 "training_hyperparams.batch_accumulate=2 makes one\n";
  }
  std::vector<Interruption> rounds = NamedInterruptions(shape);
  for (Interruption& random :
       RandomInterruptions(settings.random_rounds, settings.random_seed)) {
    rounds.push_back(std::move(random));
  }
  std::vector<RoundResult> results;
  for (const Interruption& interruption : rounds) {
    results.push_back(verification.RunRound(results.size() + 1, interruption));
    std::cerr << "." << std::flush;
  }
  std::cerr << "\n";
  std::cout << FormatTable(results);
  const bool equal = std::all_of(results.begin(), results.end(),
                                 [](const auto& result) { return result.ok; });
  return equal ? 0 : 1;
}

int Main(const std::vector<std::string>& arguments) {
  Problems problems;
  Settings settings = ReadSettings(arguments, problems);
  if (settings.help) {
    std::cerr << "Interrupts a training, resumes it and compares.\n\nFlags:\n"
              << Table(settings).Help();
    return 0;
  }
  if (HasErrors(problems)) {
    std::cerr << FormatProblems(problems);
    return kRefused;
  }
  std::error_code error;
  std::string folder = fs::temp_directory_path(error) / "verify_resume.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::cerr << "error: cannot make a folder " << folder << "\n";
    return kRefused;
  }
  const int exit_code = Verify(settings, folder);
  if (exit_code == 0) {
    fs::remove_all(folder, error);
  } else {
    std::cerr << "the runs are left in " << folder << "\n";
  }
  return exit_code;
}

}  // namespace
}  // namespace slipway

int main(int argc, char** argv) {
  // `bazel run` starts programs elsewhere; users mean paths from where they
  // are.
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && chdir(directory) != 0) {
    std::cerr << "warning: cannot enter " << directory << "\n";
  }
  return slipway::Main({argv + 1, argv + argc});
}
