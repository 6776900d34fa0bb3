// A plugin's manifest, plugin.yaml: all that is known of it without loading
// its code.
//
//   Problems problems;
//   std::optional<Manifest> ema = ReadManifest("plugins/ema/plugin.yaml",
//                                              problems);
//
// Values only. The format is documented in plugins/README.md.
#ifndef SLIPWAY_TRAINER_PLAN_MANIFEST_H_
#define SLIPWAY_TRAINER_PLAN_MANIFEST_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/plan/predicate.h"
#include "trainer/plan/version.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::plan {

// Every hook, in the order in which a training calls them first. A manifest
// lists those its plugin implements; no others are called.
const std::vector<std::string>& HookNames();

// The exclusive slots a plugin may claim; one holder each per run.
const std::vector<std::string>& ClaimNames();

// The kinds of components: models, datasets, transforms, collates, samplers,
// losses, metrics, optimizers, schedules, reporters, callbacks.
const std::vector<std::string>& ComponentKinds();

enum class Status { kStable, kAlpha, kPlanned, kDeprecated };

// One key of a plugin's configuration.
struct ConfigField {
  enum class Type { kBool, kInt, kFloat, kString, kList, kMap };
  std::string key;
  Type type = Type::kString;
  recipe::Node fallback;  // null: the key may stay absent
  std::optional<double> min;
  std::optional<double> max;
  std::vector<recipe::Node> choices;  // "enum"; empty: any
  std::string unit;
  std::string help;
  Mark mark;
};

// A recipe key that switches the plugin on (`enables`) or sets the
// configuration key `config` of it.
//
//   recipe_keys:
//     - {key: training_hyperparams.ema, enables: true}
//     - {key: training_hyperparams.ema_params.decay, config: decay}
struct RecipeKey {
  std::string key;
  // Switches the plugin on when it is true (a boolean), above zero (a number),
  // or, where `when` is given, when the predicate holds.
  bool enables = false;
  std::string config;
  std::optional<Predicate> when;
  Mark mark;
};

// requires, recommends, conflicts and warns: a relation to another plugin
// (`with`; empty for a condition of the world alone).
struct Relation {
  std::string with;
  std::optional<VersionRange> version;
  std::optional<Predicate> when;
  std::string reason;
  std::string fix;  // "fix" of a conflict, "advice" of a warning
  Mark mark;
};

struct Claim {
  std::string slot;
  std::optional<Predicate> when;
  Mark mark;
};

struct StateDeclaration {
  std::string key;
  int version = 1;
  bool required_on_load = false;
};

struct Manifest {
  int schema = 1;
  std::string id;
  Version version;
  VersionRange api;
  // Path of the shared library as written, relative to the manifest.
  std::string library;
  std::string summary;
  std::string license;
  Status status = Status::kStable;
  std::vector<std::string> hooks;
  std::vector<ConfigField> config;
  std::vector<RecipeKey> recipe_keys;
  std::map<std::string, std::vector<std::string>> components;
  std::vector<Relation> requires_;
  std::vector<Relation> recommends;
  std::vector<Relation> conflicts;
  std::vector<Relation> warns;
  // Ids (or things provided) that run later / earlier than this one, if there.
  std::vector<std::string> before;
  std::vector<std::string> after;
  std::vector<std::string> provides;
  std::vector<Claim> claims;
  std::map<std::string, std::string> effects;
  std::optional<StateDeclaration> state;
  std::vector<std::string> platforms;

  // The file this was read from, and where its fields stand in it.
  std::string path;
  std::map<std::string, Mark> marks;

  // The library's absolute path.
  std::string LibraryPath() const;
  const ConfigField* FindConfig(std::string_view key) const;
};

// Reads and checks one manifest: all its mistakes are appended at once, with
// their places. Nullopt if any was an error.
std::optional<Manifest> ParseManifest(std::string_view text, std::string path,
                                      Problems& problems);
std::optional<Manifest> ReadManifest(const std::string& path,
                                     Problems& problems);

// All manifests under `folders`: each entry is a folder that has a plugin.yaml
// or a folder of such folders. Earlier folders win silently only over the same
// file reached twice; two manifests of one id are an error naming both. Sorted
// by id.
std::vector<Manifest> DiscoverManifests(const std::vector<std::string>& folders,
                                        Problems& problems);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_MANIFEST_H_
