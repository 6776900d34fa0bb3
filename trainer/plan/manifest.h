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

#include "trainer/plan/config_field.h"
#include "trainer/plan/predicate.h"
#include "trainer/plan/version.h"
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

// How far a plugin is: `planned` ones can be planned with, but not loaded yet.
enum class Status { kStable, kAlpha, kPlanned, kDeprecated };
std::string_view Name(Status status);

// A recipe key that switches the plugin on (`enables`), or sets its
// configuration key `config`, or both.
//
//   recipe_keys:
//     - {key: training_hyperparams.ema, enables: true}
//     - {key: training_hyperparams.ema_params.*}
//     - {key: training_hyperparams.warmup_initial_lr, config: initial_lr}
//
// A null value is no value. A key that ends in ".*" stands for all keys in that
// map that have no entry of their own; each sets the configuration key of the
// same name.
struct RecipeKey {
  std::string key;
  // Switches the plugin on when it is true (a boolean), above zero (a number),
  // or, where `when` is given, when the predicate holds; such a key counts as
  // `true` for `config` where the recipe has no value for it.
  bool enables = false;
  std::string config;
  std::optional<Predicate> when;
  // Whether any other value for the same configuration key goes before this
  // one, whatever the order of composition.
  bool weak = false;
  Mark mark;

  // The map of a key that ends in ".*"; empty for any other.
  std::string_view Wildcard() const;
};

// requires, recommends, conflicts and warns: a relation to another plugin, or
// to any that provides `with`. Conflicts and warnings may leave `with` empty:
// they then arise from the condition `when` alone.
struct Relation {
  std::string with;
  // Which versions of it; the relation does not concern others (`requires` is
  // not met by others).
  std::optional<VersionRange> version;
  // The relation is there only while this holds.
  std::optional<Predicate> when;
  std::string reason;
  // "fix" of a conflict or requirement, "advice" of a warning or
  // recommendation.
  std::string fix;
  Mark mark;
};

// An exclusive slot that the plugin holds, while `when` holds if it is given.
struct Claim {
  std::string slot;
  std::optional<Predicate> when;
  Mark mark;
};

// What the plugin keeps in checkpoints: its part's name and version, and
// whether a checkpoint without it can be resumed.
struct StateDeclaration {
  std::string key;
  int version = 1;
  bool required_on_load = false;
};

struct Manifest {
  int schema = 1;
  // "ema", or "com.acme.ema" for others' plugins.
  std::string id;
  Version version;
  VersionRange api;  // versions of the plugin API that it works with
  // Path of the shared library as written, relative to the manifest.
  std::string library;
  std::string summary;
  std::string license;
  Status status = Status::kStable;
  std::vector<std::string> hooks;
  std::vector<ConfigField> config;
  std::vector<RecipeKey> recipe_keys;
  std::map<std::string, std::vector<std::string>> components;  // by kind
  std::vector<Relation> requires_;
  std::vector<Relation> recommends;
  std::vector<Relation> conflicts;
  std::vector<Relation> warns;
  // Ids (or things provided) that run later / earlier than this one, if there.
  std::vector<std::string> before;
  std::vector<std::string> after;
  std::vector<std::string> provides;
  std::vector<Claim> claims;
  std::map<std::string, std::string> effects;  // on memory, numerics, speed
  std::optional<StateDeclaration> state;
  // Devices, systems and architectures: of each sort that is named, one must be
  // there. Empty: all.
  std::vector<std::string> platforms;

  // The file this was read from, and where its fields stand in it: "version",
  // "before", and "before.0" for the first entry of a list of texts.
  std::string path;
  std::map<std::string, Mark> marks;

  // Of a field or entry as above; of the file alone if it has none.
  Mark MarkOf(const std::string& field) const;
  // The library's absolute path.
  std::string LibraryPath() const;
  // Null if there is no such configuration key.
  const ConfigField* FindConfig(std::string_view key) const;
  // Whether `name` is this plugin's id or something that it provides.
  bool IsOrProvides(std::string_view name) const;
  // All recipe keys by their full names, sorted: "a.*" becomes "a.x" for each
  // configuration key x. For the recipe's schema.
  std::vector<std::string> KnownRecipeKeys() const;
};

// The name of a plugin's library: "libema.so", "libcom_acme_x.so".
std::string LibraryName(std::string_view id);

// Reads and checks one manifest: all its mistakes are appended at once, with
// their places. Nullopt if any was an error.
std::optional<Manifest> ParseManifest(std::string_view text, std::string path,
                                      Problems& problems);
std::optional<Manifest> ReadManifest(const std::string& path,
                                     Problems& problems);

// All manifests under `folders`: each entry is a folder that has a plugin.yaml
// or a folder of such folders. A file that is reached twice counts once; two
// files with one id are an error naming both, as is a folder that cannot be
// read. What could be read is returned, sorted by id, even with errors.
std::vector<Manifest> DiscoverManifests(const std::vector<std::string>& folders,
                                        Problems& problems);

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_MANIFEST_H_
