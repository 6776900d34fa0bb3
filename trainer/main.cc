// The trainer: trains a model from a recipe. See flags.cc for the command line.
//
// Several of it, started by a launcher with WORLD_SIZE, train one model: what
// they do together before the training is in join.h.
//
// Exit codes: 0 done; 1 failed; 2 nothing was started, for what is wrong with
// the command line, the recipe or the plan; 128 + signal. JSON goes to standard
// output, everything else to standard error.
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "c10/core/Device.h"
#include "trainer/dist/environment.h"
#include "trainer/dist/process_group.h"
#include "trainer/dry_run.h"
#include "trainer/find_plugins.h"
#include "trainer/flags.h"
#include "trainer/join.h"
#include "trainer/launcher_note.h"
#include "trainer/locations.h"
#include "trainer/loop/stop_signals.h"
#include "trainer/plugin_profile.h"
#include "trainer/prepare.h"
#include "trainer/recipe/compose.h"
#include "trainer/recipe/search.h"
#include "trainer/recipe_request.h"
#include "trainer/replay.h"
#include "trainer/report/console.h"
#include "trainer/resume.h"
#include "trainer/run_files.h"

namespace slipway {
namespace {

constexpr int kFailed = 1;
constexpr int kRefused = 2;

// Ranks that were lost are no fault of what was asked for.
int Refuse(const Problems& problems) {
  std::cerr << FormatProblems(problems);
  const bool lost = std::any_of(
      problems.begin(), problems.end(),
      [](const Problem& problem) { return problem.kind == "peer"; });
  return lost ? kFailed : kRefused;
}

int Help(const recipe::SearchPath& path) {
  std::cerr << FlagsHelp() << "\nRecipes:\n";
  for (const recipe::RecipeSummary& summary : recipe::ListRecipes(path)) {
    std::cerr << absl::StrCat("  ", summary.name, ": ", summary.line, "\n");
  }
  return 0;
}

int Print(const recipe::Node& recipe, const std::string& format) {
  std::cout << (format == "json" ? recipe.ToJson().dump(2) + "\n"
                                 : recipe.ToYaml());
  return 0;
}

Problem NoMemoryPlan(const absl::Status& status, int world_size) {
  Problem problem;
  problem.kind = "value";
  problem.severity = Severity::kWarning;
  problem.message = "what the training holds in memory was not measured";
  problem.detail = std::string(status.message());
  problem.hint = world_size == 1
                     ? "the training would fail in the same way"
                     : "it is measured in one process: without WORLD_SIZE";
  return problem;
}

int DryRun(const recipe::Node& recipe, const Prepared& prepared,
           const std::string& format, int world_size) {
  const auto measured = prepared.trainer->MeasureMemory();
  if (!measured.ok()) {
    std::cerr << FormatProblem(NoMemoryPlan(measured.status(), world_size));
  }
  const loop::MemoryPlan* memory = measured.ok() ? &*measured : nullptr;
  if (format == "json") {
    std::cout << DryRunJson(recipe, prepared, memory).dump(2) << "\n";
  } else {
    std::cout << DryRunText(recipe, prepared, memory);
  }
  return 0;
}

ConsoleOptions Console(const Flags& flags) {
  ConsoleOptions options = ConsoleOptionsFor(STDERR_FILENO);
  using Progress = ConsoleOptions::Progress;
  if (flags.progress == "bar") options.progress = Progress::kBar;
  if (flags.progress == "lines") options.progress = Progress::kLines;
  if (flags.progress == "none") options.progress = Progress::kNone;
  return options;
}

// Without destructors.
[[noreturn]] void EndAtOnce(int exit_code) {
  std::cout.flush();
  std::cerr.flush();
  _exit(exit_code);
}

// A signal that came before there was a training to be saved.
bool Stopped(const std::atomic<int>& signal) {
  if (signal == 0) return false;
  std::cerr << "stopped by " << strsignal(signal)
            << " before the training began\n";
  return true;
}

// What the run writes, and who sees it. Problems are of this rank's.
void AddReporters(const Flags& flags, const recipe::Node& recipe,
                  const RunFolderRequest& folder, const RunPlace& place,
                  int rank, Prepared& prepared, Problems& problems) {
  loop::Trainer& trainer = *prepared.trainer;
  if (rank == 0 && !trainer.hyperparams().silent_mode) {
    trainer.AddReporter(
        std::make_unique<ConsoleReporter>(std::cerr, Console(flags)));
  }
  // Rank 0 creates the folder, and all others wait for that.
  const absl::Status created =
      rank == 0 ? StartRunFolder(place, folder, recipe, prepared.plan, trainer)
                : StartPeerFiles(place, rank, trainer);
  if (created.ok()) return;
  Problem problem;
  problem.kind = "value";
  problem.message = std::string(created.message());
  problems.push_back(std::move(problem));
}

// Rank 0 first. False: nothing starts, on any rank.
bool StartFiles(const Flags& flags, const recipe::Node& recipe,
                const RunFolderRequest& folder, const RunPlace& place,
                dist::ProcessGroup& group, Prepared& prepared,
                Problems& problems) {
  const int rank = group.rank();
  if (rank == 0) {
    AddReporters(flags, recipe, folder, place, rank, prepared, problems);
  }
  if (!AllReady(group, problems)) return false;
  if (rank != 0) {
    AddReporters(flags, recipe, folder, place, rank, prepared, problems);
  }
  return AllReady(group, problems);
}

int Train(const Flags& flags, int rank, Prepared& prepared,
          loop::StopSignals& signals) {
  loop::Trainer& trainer = *prepared.trainer;
  if (flags.profile && rank == 0) trainer.ProfileSteps(*flags.profile);
  signals.Retarget(trainer.stop_signal());
  const loop::RunResult result = trainer.Fit();
  const bool shown = rank == 0 && !trainer.hyperparams().silent_mode;
  if (!shown && result.error) std::cerr << FormatProblem(*result.error);
  if (flags.plugin_profile && rank == 0)
    std::cerr << FormatPluginProfile(trainer.hooks().Times());
  // All is written. What is left waits for data that may never come.
  if (trainer.stop_signal() != 0) EndAtOnce(result.exit_code);
  return result.exit_code;
}

// The states of the run that is to be replayed, if one is; `request` then
// begins where that run did.
std::optional<ReplayLog> PrepareReplay(const Flags& flags, int rank,
                                       recipe::Request& request,
                                       Problems& problems) {
  if (flags.replay.empty() || HasErrors(problems)) return std::nullopt;
  std::optional<ReplayLog> log =
      OpenReplay(flags.replay, rank, flags.until, problems);
  if (!log) return log;
  for (const std::string& text : ReplayOverrides(*log)) {
    request.overrides.push_back(text);
  }
  return log;
}

// A run, or one again whose states are `log`: that, too, begins at the
// checkpoint which it took up.
int Start(const Flags& flags, const recipe::Composed& composed,
          const RunFolderRequest& folder, const RunPlace& place,
          std::optional<ReplayLog> log, dist::ProcessGroup& group,
          Prepared& prepared, loop::StopSignals& signals, Problems& problems) {
  TakeUp(place, composed.recipe, prepared.plan, *prepared.trainer, problems);
  if (!AllReady(group, problems)) return Refuse(problems);
  if (group.rank() == 0) std::cerr << FormatProblems(problems);
  if (!log) {
    Problems found;
    if (!StartFiles(flags, composed.recipe, folder, place, group, prepared,
                    found)) {
      return Refuse(found);
    }
    return Train(flags, group.rank(), prepared, signals);
  }
  signals.Retarget(prepared.trainer->stop_signal());
  return Replay(*std::move(log), *prepared.trainer, std::cerr);
}

at::Device DeviceOf(const recipe::Node& recipe, const std::string& flag,
                    const dist::ProcessGroup& group) {
  Problems told_later;
  if (ChooseDevice(recipe, flag, told_later) == "cpu") return at::kCPU;
  const auto index =
      static_cast<at::DeviceIndex>(group.environment().local_rank);
  return at::Device(at::kCUDA, index);
}

// Where the run will be, once all ranks have met. They do not for a dry run, or
// where there is nothing to meet for.
std::optional<RunPlace> MeetAndFindPlace(const Flags& flags,
                                         const recipe::Node& recipe,
                                         const RunFolderRequest& folder,
                                         dist::ProcessGroup& group,
                                         Problems& problems) {
  if (flags.dry_run || HasErrors(problems)) {
    return FindRunPlace(recipe, folder, absl::Now(), problems);
  }
  if (!Join(group, DeviceOf(recipe, flags.device, group), recipe, problems)) {
    return std::nullopt;
  }
  return FindRunPlaceTogether(group, recipe, folder, absl::Now(), problems);
}

// The trainer of a run at `place`, which is null if that was not found.
// Nullopt, on all ranks, if and only if any of them has an error.
std::optional<Prepared> PrepareTogether(PrepareRequest request,
                                        const RunPlace* place,
                                        const std::optional<ReplayLog>& log,
                                        Problems& problems) {
  dist::ProcessGroup& group = *request.group;
  if (place != nullptr) {
    // A replay writes nothing.
    if (!log) request.run_dir = place->dir;
    request.resumes = !place->checkpoint.empty();
  }
  std::optional<Prepared> prepared = Prepare(std::move(request), problems);
  if (prepared) CheckLaunchedPlan(group, prepared->plan, problems);
  const bool met = group.connected();
  if (met ? !AllReady(group, problems) : HasErrors(problems)) {
    return std::nullopt;
  }
  return prepared;
}

int Main(const std::vector<std::string>& arguments) {
  // Until there is a trainer to take it.
  static std::atomic<int> signal = 0;
  loop::StopSignals signals(signal);
  Problems problems;
  dist::ProcessGroup group(dist::ReadEnvironment(problems));
  const Flags flags = ParseFlags(arguments, problems);
  const Locations here =
      FindLocations(ExecutablePath(), std::getenv("RUNFILES_DIR"));
  recipe::Request request = RecipeRequest(flags, here);
  if (flags.help) return Help(recipe::SearchPathOf(request));
  std::optional<ReplayLog> log =
      PrepareReplay(flags, group.rank(), request, problems);
  if (HasErrors(problems)) return Refuse(problems);

  std::optional<recipe::Composed> composed = recipe::Compose(request, problems);
  if (!composed) return Refuse(problems);
  PrepareRequest prepare;
  prepare.plugins =
      FindPlugins(composed->recipe,
                  PluginFolders(flags.plugin_path,
                                std::getenv("SLIPWAY_PLUGIN_PATH"), here),
                  problems);
  CheckRecipe(*composed, prepare.plugins, flags.allow_unknown, problems);
  if (!flags.print_recipe.empty() && !HasErrors(problems)) {
    return Print(composed->recipe, flags.print_recipe);
  }

  const RunFolderRequest folder = FolderRequest(flags, *composed);
  const std::optional<RunPlace> place =
      MeetAndFindPlace(flags, composed->recipe, folder, group, problems);
  prepare.recipe = composed->recipe;
  prepare.recipe_name = flags.recipe;
  prepare.device = flags.device;
  prepare.group = &group;
  std::optional<Prepared> prepared = PrepareTogether(
      std::move(prepare), place ? &*place : nullptr, log, problems);
  if (!prepared) return Refuse(problems);
  if (std::getenv("WORLD_SIZE") == nullptr) {
    NoteLauncher(composed->recipe, flags.recipe, problems);
  }
  if (flags.dry_run) {
    std::cerr << FormatProblems(problems);
    return DryRun(composed->recipe, *prepared, flags.format,
                  group.world_size());
  }
  // Several ranks stop together.
  if (!group.distributed() && Stopped(signal)) return 128 + signal;
  const int exit_code = Start(flags, *composed, folder, *place, std::move(log),
                              group, *prepared, signals, problems);
  // The trainer's own goes with it.
  signals.Retarget(signal);
  return exit_code;
}

// Threads that wait for each other spin for milliseconds by default. Where they
// share their cores with the data pipeline or with other programs, the one that
// is waited for does not get to run: measured on two busy cores, a training was
// more than ten times slower. libgomp reads its settings when it is loaded, so
// that the process starts over; where that fails, it trains as it is.
void LetWaitingThreadsSleep(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr ||
      std::getenv("GOMP_SPINCOUNT") != nullptr) {
    return;
  }
  setenv("OMP_WAIT_POLICY", "passive", 1);
  execv(ExecutablePath().c_str(), argv);
}

}  // namespace
}  // namespace slipway

int main(int argc, char** argv) {
  slipway::LetWaitingThreadsSleep(argv);
  // `bazel run` starts programs elsewhere; users mean paths from where they
  // are.
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && chdir(directory) != 0) {
    std::cerr << "warning: cannot enter " << directory << "\n";
  }
  return slipway::Main({argv + 1, argv + argc});
}
