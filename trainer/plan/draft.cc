#include "trainer/plan/draft.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/plan/configure.h"

namespace slipway::plan {
namespace {

using recipe::Node;

std::optional<Node> EnvironmentValue(const Environment& here,
                                     std::string_view name) {
  if (name == "world_size") return Node::Int(here.world_size);
  if (name == "device") return Node::String(here.device);
  if (name == "cpu_isa") return Node::String(here.cpu_isa);
  if (name == "cpu_bf16") return Node::Bool(here.cpu_bf16);
  if (name == "libtorch_version") return Node::String(here.libtorch_version);
  if (name == "os") return Node::String(here.os);
  if (name == "arch") return Node::String(here.arch);
  if (name == "auto_lr") return Node::Bool(here.auto_lr);
  return std::nullopt;
}

bool IdsAscend(const Manifest* a, const Manifest* b) { return a->id < b->id; }

Node NodeAt(const Node& root, std::string_view path) {
  const Node* const node = root.FindPath(path);
  return node == nullptr ? Node() : *node;
}

}  // namespace

Draft::Draft(const std::vector<Manifest>& all, const recipe::Node& recipe,
             const Environment& environment,
             const std::vector<std::string>& searched, Problems& problems)
    : recipe(recipe),
      environment(environment),
      searched(searched),
      problems(problems) {
  for (const Manifest& manifest : all) manifests.push_back(&manifest);
  std::sort(manifests.begin(), manifests.end(), IdsAscend);
  section = ReadSection(recipe, Ids(), searched, problems);
}

std::vector<std::string> Draft::Ids() const {
  std::vector<std::string> ids;
  for (const Manifest* manifest : manifests) ids.push_back(manifest->id);
  return ids;
}

const Manifest* Draft::FindManifest(std::string_view id) const {
  for (const Manifest* manifest : manifests) {
    if (manifest->id == id) return manifest;
  }
  return nullptr;
}

const Chosen* Draft::FindChosen(std::string_view id) const {
  for (const Chosen& plugin : chosen) {
    if (plugin.id() == id) return &plugin;
  }
  return nullptr;
}

std::vector<const Chosen*> Draft::Others(const Chosen& self,
                                         std::string_view name) const {
  std::vector<const Chosen*> others;
  for (const Chosen& plugin : chosen) {
    if (&plugin != &self && plugin.manifest.IsOrProvides(name)) {
      others.push_back(&plugin);
    }
  }
  return others;
}

void Draft::Add(const Manifest& manifest, Because because, const Mark& where) {
  PlannedPlugin planned;
  planned.id = manifest.id;
  planned.version = manifest.version;
  planned.manifest = manifest.path;
  planned.library = manifest.LibraryPath();
  planned.because = because;
  planned.status = manifest.status;
  planned.hooks = manifest.hooks;
  planned.where = where;
  for (const SectionEntry* entry : section.Of(manifest.id)) {
    planned.on_error = entry->on_error;
  }
  planned.config = Configure(manifest, *this);
  chosen.push_back({manifest, std::move(planned)});
}

Node Draft::ValueOf(std::string_view name) const {
  if (const std::optional<Node> value = EnvironmentValue(environment, name)) {
    return *value;
  }
  if (FindManifest(name) != nullptr) {
    return Node::Bool(FindChosen(name) != nullptr);
  }
  // Backwards, so that com.acme.x comes before com.acme.
  for (auto it = manifests.rbegin(); it != manifests.rend(); ++it) {
    const std::string prefix = (*it)->id + ".";
    if (!name.starts_with(prefix)) continue;
    const Chosen* const plugin = FindChosen((*it)->id);
    if (plugin == nullptr) return Node();
    return NodeAt(plugin->planned.config, name.substr(prefix.size()));
  }
  return NodeAt(recipe, name);
}

bool Draft::Holds(const std::optional<Predicate>& when) const {
  return !when ||
         when->Holds([this](std::string_view name) { return ValueOf(name); });
}

}  // namespace slipway::plan
