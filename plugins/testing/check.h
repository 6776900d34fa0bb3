// The checks that every plugin passes, by their ids.
//
//   for (const Check& check : AllChecks()) {
//     const absl::Status status = check.run(subject);
//   }
//
// README.md tells each one's reason and remedy at length. A check expects a
// process of its own: it loads the plugin's library, which stays loaded, and
// counts what is left behind.
#ifndef SLIPWAY_PLUGINS_TESTING_CHECK_H_
#define SLIPWAY_PLUGINS_TESTING_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plugins/testing/harness.h"
#include "trainer/plan/manifest.h"
#include "trainer/plugin/components.h"
#include "trainer/plugin/hook_runner.h"
#include "trainer/recipe/node.h"

namespace slipway::testing {

// A plugin that is checked.
struct Subject {
  std::string folder;
  plan::Manifest manifest;
  // Where the plugins lie that it requires.
  std::vector<std::string> plugin_path;
  // Keys for its trainings, besides the harness's own; null: none.
  recipe::Node recipe;
  // Of what is drawn at random.
  uint64_t seed = 1;
  // An empty folder for files.
  std::string scratch;
};

struct Check {
  std::string id;     // "PLG_001"
  std::string name;   // "manifest_agrees"
  std::string fails;  // what a plugin that fails does, for the list
  std::string remedy;
  // OK; CANCELLED, with the reason, where the plugin has nothing to check; all
  // else is a failure, with what was found.
  absl::Status (*run)(const Subject& subject);
};

// In the order of their ids.
const std::vector<Check>& AllChecks();

// --- what checks are made of -------------------------------------------------

// FAILED_PRECONDITION, CANCELLED.
absl::Status Found(std::string reason);
absl::Status NothingToCheck(std::string reason);

// The manifest's defaults, complete.
recipe::Node DefaultConfig(const plan::Manifest& manifest);

// The plugin, opened and created with `config`, and what it registers.
absl::StatusOr<RunningPlugin> Load(const Subject& subject,
                                   const recipe::Node& config,
                                   Components& components);
absl::StatusOr<RunningPlugin> Load(const Subject& subject);

// A training with the plugin on its defaults (and the recipe's).
HarnessOptions Training(const Subject& subject);
// Of that, to its end; an error where it does not end well.
absl::StatusOr<std::unique_ptr<PluginHarness>> Trained(HarnessOptions options);
// What is wrong with a training's end; OK if nothing.
absl::Status EndedWell(const loop::RunResult& result);

// Digests of the model's parameters and buffers, by name.
std::string Digest(const nn::Module& model);

// Losses with all their bits.
std::string Bits(const std::vector<double>& losses);

// Each check's function: library_checks.cc, config_checks.cc, hook_checks.cc,
// training_checks.cc.
absl::Status ManifestAgrees(const Subject& subject);
absl::Status BinaryIsClean(const Subject& subject);
absl::Status LoadsAlone(const Subject& subject);
absl::Status TakesItsBounds(const Subject& subject);
absl::Status LeaksNothing(const Subject& subject);
absl::Status HooksAreDeclared(const Subject& subject);
absl::Status DisturbsNobody(const Subject& subject);
absl::Status StateReturns(const Subject& subject);
absl::Status OldStateLoads(const Subject& subject);
absl::Status RanksAgree(const Subject& subject);
absl::Status SurvivesNeighbour(const Subject& subject);
absl::Status ClosesOnce(const Subject& subject);
absl::Status KeepsToItsPhase(const Subject& subject);
absl::Status TakesAnyConfig(const Subject& subject);
absl::Status OptimizersReturn(const Subject& subject);

}  // namespace slipway::testing

#endif  // SLIPWAY_PLUGINS_TESTING_CHECK_H_
