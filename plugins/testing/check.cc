#include "plugins/testing/check.h"

#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/loop/state_hash.h"
#include "trainer/plan/plan.h"
#include "trainer/plugin/load_plugins.h"

namespace slipway::testing {

namespace {

// One line of the README's table each.
const Check kChecks[] = {
    {"PLG_001", "manifest_agrees",
     "says one thing in plugin.yaml and another in its library",
     "make id, version, api and components of plugin.yaml those of the "
     "source, and rebuild",
     &ManifestAgrees},
    {"PLG_002", "binary_is_clean",
     "exports more than its entry, or brings a core, flags or logging of its "
     "own",
     "link with trainer_plugin(), or with the flags that the guide lists; "
     "take configuration from the recipe, not from flags",
     &BinaryIsClean},
    {"PLG_003", "loads_alone",
     "needs something that its manifest does not require",
     "list what it needs under `requires`, and let the defaults of its "
     "configuration train",
     &LoadsAlone},
    {"PLG_004", "takes_its_bounds",
     "refuses what its manifest allows, or allows what it cannot take",
     "make min, max and enum in plugin.yaml those that Create takes",
     &TakesItsBounds},
    {"PLG_005", "leaks_nothing", "keeps memory after it was destroyed",
     "free in Close or in the destructor what Create and Register allocate",
     &LeaksNothing},
    {"PLG_006", "hooks_are_declared",
     "overrides hooks that its manifest does not list, or the reverse",
     "list under `hooks` what the class overrides, and under `state` that it "
     "has state",
     &HooksAreDeclared},
    {"PLG_007", "disturbs_nobody",
     "changes trainings that do not use it, or that switch it off",
     "leave the process's settings alone: threads, random generators, "
     "autocast, signal handlers, environment",
     &DisturbsNobody},
    {"PLG_008", "state_returns",
     "trains otherwise after a resume than without one",
     "keep in SaveState all that later steps depend on, and put it back in "
     "LoadState",
     &StateReturns},
    {"PLG_009", "old_state_loads",
     "cannot load the state that an earlier version has written",
     "let LoadState take every version from 1 on, and ship a state_v<N>.pth "
     "for each",
     &OldStateLoads},
    {"PLG_010", "ranks_agree", "lets the ranks' parameters drift apart",
     "change parameters in the same way on every rank: from what is equal "
     "there, or after a collective",
     &RanksAgree},
    {"PLG_011", "survives_neighbour",
     "crashes, hangs or is not told where another plugin fails",
     "let OnFailure and Close work from any state, without FitBegin too",
     &SurvivesNeighbour},
    {"PLG_012", "closes_once", "leaves threads, files or processes behind",
     "stop and close in Close what setup and loop have started", &ClosesOnce},
    {"PLG_013", "keeps_to_its_phase",
     "writes to what its context shows it read-only",
     "change weights in FitContext and GradientContext hooks, batches in "
     "BatchContext hooks, and undo what EvalBegin changes with a Scope",
     &KeepsToItsPhase},
    {"PLG_014", "takes_any_config",
     "crashes on a configuration that its manifest allows",
     "refuse it in Create with INVALID_ARGUMENT and the key's name, or "
     "narrow the manifest",
     &TakesAnyConfig},
    {"PLG_015", "optimizers_return",
     "has an optimizer that trains otherwise after a resume",
     "keep in Optimizer::State all that later steps depend on, and let it "
     "train with its defaults",
     &OptimizersReturn},
};

}  // namespace

const std::vector<Check>& AllChecks() {
  static const auto& checks =
      *new std::vector<Check>(std::begin(kChecks), std::end(kChecks));
  return checks;
}

absl::Status Found(std::string reason) {
  return absl::FailedPreconditionError(reason);
}

absl::Status NothingToCheck(std::string reason) {
  return absl::CancelledError(reason);
}

recipe::Node DefaultConfig(const plan::Manifest& manifest) {
  recipe::Node config = recipe::Node::Map();
  for (const plan::ConfigField& field : manifest.config) {
    config.Set(field.key, field.fallback);
  }
  return config;
}

absl::StatusOr<RunningPlugin> Load(const Subject& subject,
                                   const recipe::Node& config,
                                   Components& components) {
  plan::PlannedPlugin planned;
  planned.id = subject.manifest.id;
  planned.version = subject.manifest.version;
  planned.manifest = subject.manifest.path;
  planned.library = subject.manifest.LibraryPath();
  planned.status = subject.manifest.status;
  planned.config = config;
  planned.hooks = subject.manifest.hooks;
  plan::Plan plan;
  plan.plugins.push_back(std::move(planned));
  Problems problems;
  std::vector<RunningPlugin> plugins =
      LoadPlugins(plan, {subject.manifest}, components, problems);
  if (HasErrors(problems)) {
    const bool refused = problems.front().kind == "value";
    return refused ? absl::InvalidArgumentError(FormatProblems(problems))
                   : Found(FormatProblems(problems));
  }
  return std::move(plugins.front());
}

absl::StatusOr<RunningPlugin> Load(const Subject& subject) {
  Components components;
  return Load(subject, DefaultConfig(subject.manifest), components);
}

HarnessOptions Training(const Subject& subject) {
  HarnessOptions options;
  options.folder = subject.folder;
  options.plugin_path = subject.plugin_path;
  options.recipe = subject.recipe;
  return options;
}

absl::Status EndedWell(const loop::RunResult& result) {
  if (result.exit_code == 0) return absl::OkStatus();
  return Found(result.error
                   ? FormatProblem(*result.error)
                   : absl::StrCat("the training ended as \"",
                                  std::string(ToString(result.exit_reason)),
                                  "\""));
}

absl::StatusOr<std::unique_ptr<PluginHarness>> Trained(HarnessOptions options) {
  auto harness = PluginHarness::Create(std::move(options));
  if (!harness.ok()) return Found(std::string(harness.status().message()));
  const absl::Status ended = EndedWell((*harness)->Train());
  if (!ended.ok()) return ended;
  for (const double loss : (*harness)->losses()) {
    if (!std::isfinite(loss)) {
      return Found(absl::StrCat("a loss of ", loss));
    }
  }
  return harness;
}

std::string Digest(const nn::Module& model) {
  std::string text;
  for (const auto& [name, tensor] : model.StateDict()) {
    absl::StrAppend(&text, name, " ", loop::HashTensor(tensor), "\n");
  }
  return text;
}

std::string Bits(const std::vector<double>& losses) {
  std::string text;
  for (const double loss : losses) {
    absl::StrAppend(&text, absl::Hex(std::bit_cast<uint64_t>(loss)), " ");
  }
  return text;
}

}  // namespace slipway::testing
