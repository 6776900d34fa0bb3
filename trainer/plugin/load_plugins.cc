#include "trainer/plugin/load_plugins.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/plugin/exception.h"
#include "trainer/plugin/library.h"
// After LibTorch's headers, which define LOG too.
#include "glog/logging.h"

namespace slipway {
namespace {

using plan::Manifest;
using plan::PlannedPlugin;

// Calls `f(kind, member of Components)` for every kind.
template <typename Function>
void ForEachKind(const Function& f) {
  f("models", &Components::models);
  f("datasets", &Components::datasets);
  f("transforms", &Components::transforms);
  f("collates", &Components::collates);
  f("samplers", &Components::samplers);
  f("losses", &Components::losses);
  f("metrics", &Components::metrics);
  f("optimizers", &Components::optimizers);
  f("schedules", &Components::schedules);
  f("reporters", &Components::reporters);
  f("callbacks", &Components::callbacks);
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Manifest& ManifestOf(const PlannedPlugin& planned,
                           const std::vector<Manifest>& manifests) {
  for (const Manifest& manifest : manifests) {
    if (manifest.id == planned.id) return manifest;
  }
  LOG(FATAL) << "planned without a manifest: " << planned.id;
}

// The way of one plugin from its manifest to an object.
class Loading {
 public:
  Loading(const PlannedPlugin& planned, const Manifest& manifest,
          Problems& problems)
      : planned_(planned), manifest_(manifest), problems_(problems) {}

  // Null if there was an error.
  PluginPointer Load(Components& components) {
    const SlipwayPluginDescriptor* library = OpenChecked();
    if (library == nullptr || !CheckIdentity(*library)) return nullptr;
    PluginPointer plugin = Create(*library);
    if (plugin == nullptr || !Register(*plugin, components)) return nullptr;
    return plugin;
  }

 private:
  // Problems of the library get the user's own place first.
  const SlipwayPluginDescriptor* OpenChecked() {
    Problems found;
    const SlipwayPluginDescriptor* library =
        OpenLibrary(planned_.library, found);
    if (library != nullptr && !CheckAbi(*library, planned_.library, found)) {
      library = nullptr;
    }
    for (Problem& problem : found) {
      problem.where.insert(problem.where.begin(), planned_.where);
      problem.plugins = {planned_.id};
      problems_.push_back(std::move(problem));
    }
    return library;
  }

  bool CheckIdentity(const SlipwayPluginDescriptor& library) {
    std::vector<std::string> lines;
    Compare("id", manifest_.id, library.id, lines);
    Compare("version", ToString(manifest_.version), library.version, lines);
    return Agrees(manifest_.id == library.id ? "version" : "id", lines);
  }

  static void Compare(const char* field, const std::string& manifest,
                      const std::string& library,
                      std::vector<std::string>& lines) {
    if (manifest == library) return;
    lines.push_back(absl::StrCat(field, ": manifest \"", manifest,
                                 "\", library \"", library, "\""));
  }

  // `field` of the manifest is where to look.
  bool Agrees(const std::string& field,
              const std::vector<std::string>& differences) {
    if (differences.empty()) return true;
    problems_.push_back(
        {.kind = "manifest",
         .message = absl::StrCat("the manifest of plugin \"", planned_.id,
                                 "\" and its library disagree"),
         .detail = absl::StrJoin(differences, "\n"),
         .where = {manifest_.MarkOf(field), {.file = planned_.library}},
         .hint = "rebuild the library, or correct the manifest",
         .plugins = {planned_.id}});
    return false;
  }

  PluginPointer Create(const SlipwayPluginDescriptor& library) {
    absl::Status status;
    void* object = nullptr;
    try {
      object = library.create(&planned_.config, &status);
    } catch (...) {
      status = CurrentExceptionStatus();
    }
    if (object == nullptr) {
      Fail("Create", status);
      return nullptr;
    }
    return PluginPointer(static_cast<Plugin*>(object),
                         PluginDeleter{library.destroy});
  }

  // A refused configuration is the user's to correct, all else the author's.
  void Fail(const char* hook, const absl::Status& status) {
    const bool refused =
        absl::IsInvalidArgument(status) || absl::IsOutOfRange(status);
    problems_.push_back(
        {.kind = refused ? "value" : "hook",
         .message = absl::StrCat("plugin \"", planned_.id, "\" ",
                                 refused ? "refuses its configuration"
                                         : absl::StrCat("failed in ", hook)),
         .detail = std::string(status.message()),
         .where = {planned_.where},
         .plugins = {planned_.id},
         .hook = hook});
  }

  bool Register(Plugin& plugin, Components& components) {
    try {
      plugin.Register(components);
    } catch (...) {
      Fail("Register", CurrentExceptionStatus());
      return false;
    }
    std::vector<std::string> differences;
    ForEachKind([&](const char* kind, auto member) {
      CompareNames(kind, (components.*member).names(), differences);
    });
    return Agrees("components", differences);
  }

  void CompareNames(const std::string& kind,
                    const std::vector<std::string>& registered,
                    std::vector<std::string>& differences) {
    const auto found = manifest_.components.find(kind);
    const std::vector<std::string> listed = found == manifest_.components.end()
                                                ? std::vector<std::string>()
                                                : found->second;
    for (const std::string& name : listed) {
      if (Contains(registered, name)) continue;
      differences.push_back(
          absl::StrCat(kind, ": the library does not register \"", name, "\""));
    }
    for (const std::string& name : registered) {
      if (Contains(listed, name)) continue;
      differences.push_back(
          absl::StrCat(kind, ": the manifest does not list \"", name, "\""));
    }
  }

  const PlannedPlugin& planned_;
  const Manifest& manifest_;
  Problems& problems_;
};

Problem OnlyPlanned(const PlannedPlugin& planned) {
  return {.kind = "status",
          .message = absl::StrCat("plugin \"", planned.id,
                                  "\" is planned: there is no library to load"),
          .where = {planned.where},
          .plugins = {planned.id}};
}

// Adds the components of one plugin after another, each name once.
class Merging {
 public:
  Merging(Components& merged, Problems& problems)
      : merged_(merged), problems_(problems) {}

  void Add(const PlannedPlugin& plugin, const Components& components) {
    ForEachKind([&](const char* kind, auto member) {
      for (const std::string& name : (components.*member).names()) {
        const auto* factory = (components.*member).Find(name);
        if ((merged_.*member).Add(name, *factory)) {
          owners_[{kind, name}] = &plugin;
        } else {
          Taken(kind, name, plugin);
        }
      }
    });
  }

 private:
  void Taken(const std::string& kind, const std::string& name,
             const PlannedPlugin& plugin) {
    Problem problem = {.kind = "conflict",
                       .message = absl::StrCat("\"", name, "\" of ", kind,
                                               " is registered twice"),
                       .where = {plugin.where},
                       .plugins = {plugin.id}};
    std::string first = "the trainer itself";
    if (const PlannedPlugin* owner = owners_[{kind, name}]) {
      first = absl::StrCat("plugin \"", owner->id, "\"");
      problem.where.insert(problem.where.begin(), owner->where);
      problem.plugins.insert(problem.plugins.begin(), owner->id);
    }
    problem.detail =
        absl::StrCat("by ", first, " and by plugin \"", plugin.id, "\"");
    problem.hint = absl::StrCat("leave plugin \"", plugin.id,
                                "\" out, or give its component another name");
    problems_.push_back(std::move(problem));
  }

  Components& merged_;
  Problems& problems_;
  std::map<std::pair<std::string, std::string>, const PlannedPlugin*> owners_;
};

}  // namespace

std::vector<RunningPlugin> LoadPlugins(const plan::Plan& plan,
                                       const std::vector<Manifest>& manifests,
                                       Components& components,
                                       Problems& problems) {
  Problems found;
  std::vector<RunningPlugin> running;
  Components merged = components;
  Merging merging(merged, found);
  for (const PlannedPlugin& planned : plan.plugins) {
    if (planned.status == plan::Status::kPlanned) {
      found.push_back(OnlyPlanned(planned));
      continue;
    }
    const Manifest& manifest = ManifestOf(planned, manifests);
    Components own;
    PluginPointer plugin = Loading(planned, manifest, found).Load(own);
    if (plugin == nullptr) continue;
    merging.Add(planned, own);
    running.push_back(
        {.id = planned.id,
         .plugin = std::move(plugin),
         .on_error = planned.on_error,
         .state_version = manifest.state ? manifest.state->version : 1,
         .state_required = manifest.state && manifest.state->required_on_load,
         .where = planned.where});
  }
  const bool failed = HasErrors(found);
  std::move(found.begin(), found.end(), std::back_inserter(problems));
  if (failed) {
    // Closes what was made.
    HookRunner(std::move(running), {});
    return {};
  }
  components = std::move(merged);
  return running;
}

}  // namespace slipway
