#include "trainer/inspect/graph.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"

namespace slipway::inspect {
namespace {

using plan::Manifest;
using plan::Relation;

using Manifests = std::vector<const Manifest*>;

// Adds `edge`, or its hooks to the order that is there already.
void Add(const Edge& edge, std::vector<Edge>& edges) {
  const auto same =
      std::find_if(edges.begin(), edges.end(), [&](const Edge& e) {
        return e.kind == edge.kind && e.from == edge.from && e.to == edge.to &&
               e.when == edge.when;
      });
  if (same == edges.end()) {
    edges.push_back(edge);
  } else {
    same->hooks.insert(same->hooks.end(), edge.hooks.begin(), edge.hooks.end());
  }
}

// The others among `manifests` that `name` means.
Manifests Meant(const std::string& name, const Manifest& self,
                const Manifests& manifests) {
  Manifests meant;
  for (const Manifest* other : manifests) {
    if (other != &self && other->IsOrProvides(name)) meant.push_back(other);
  }
  return meant;
}

void AddRelations(const char* kind, const Manifest& plugin,
                  const std::vector<Relation>& relations,
                  const Manifests& manifests, std::vector<Edge>& edges) {
  for (const Relation& relation : relations) {
    for (const Manifest* other : Meant(relation.with, plugin, manifests)) {
      Edge edge = {.kind = kind, .from = plugin.id, .to = other->id};
      if (relation.when) edge.when = relation.when->text();
      Add(edge, edges);
    }
  }
}

Graph WithRelations(const Manifests& manifests) {
  Graph graph;
  for (const Manifest* plugin : manifests) {
    graph.ids.push_back(plugin->id);
    AddRelations("requires", *plugin, plugin->requires_, manifests,
                 graph.edges);
    AddRelations("conflicts", *plugin, plugin->conflicts, manifests,
                 graph.edges);
  }
  return graph;
}

std::string Quoted(const std::string& text) {
  return absl::StrCat(
      "\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

std::string StyleOf(const Edge& edge) {
  const std::string label =
      edge.when.empty() ? "" : ", label=" + Quoted(edge.when);
  if (edge.kind == "requires") return "style=dashed" + label;
  if (edge.kind == "conflicts") return "dir=none, color=red" + label;
  // \n is Graphviz's own.
  return edge.hooks.empty()
             ? ""
             : absl::StrCat("label=\"", absl::StrJoin(edge.hooks, "\\n"), "\"");
}

}  // namespace

Graph GraphOf(const plan::Plan& plan, const std::vector<Manifest>& manifests) {
  Manifests planned;
  for (const plan::PlannedPlugin& plugin : plan.plugins) {
    for (const Manifest& manifest : manifests) {
      if (manifest.id == plugin.id) planned.push_back(&manifest);
    }
  }
  Graph graph = WithRelations(planned);
  for (const std::string& hook : plan::HookNames()) {
    const auto found = plan.order.find(hook);
    if (found == plan.order.end()) continue;
    const std::vector<std::string>& ids = found->second;
    for (size_t i = 1; i < ids.size(); ++i) {
      Add({.kind = "order", .from = ids[i - 1], .to = ids[i], .hooks = {hook}},
          graph.edges);
    }
  }
  return graph;
}

Graph GraphOf(const std::vector<Manifest>& manifests) {
  Manifests all;
  for (const Manifest& manifest : manifests) all.push_back(&manifest);
  Graph graph = WithRelations(all);
  for (const Manifest* plugin : all) {
    for (const std::string& name : plugin->before) {
      for (const Manifest* other : Meant(name, *plugin, all)) {
        Add({.kind = "order", .from = plugin->id, .to = other->id},
            graph.edges);
      }
    }
    for (const std::string& name : plugin->after) {
      for (const Manifest* other : Meant(name, *plugin, all)) {
        Add({.kind = "order", .from = other->id, .to = plugin->id},
            graph.edges);
      }
    }
  }
  return graph;
}

std::string ToDot(const Graph& graph) {
  std::string text = "digraph plugins {\n  rankdir=LR;\n  node [shape=box];\n";
  for (const std::string& id : graph.ids) {
    absl::StrAppend(&text, "  ", Quoted(id), ";\n");
  }
  for (const Edge& edge : graph.edges) {
    const std::string style = StyleOf(edge);
    absl::StrAppend(&text, "  ", Quoted(edge.from), " -> ", Quoted(edge.to),
                    style.empty() ? "" : absl::StrCat(" [", style, "]"), ";\n");
  }
  return text + "}\n";
}

nlohmann::ordered_json ToJson(const Graph& graph) {
  nlohmann::ordered_json edges = nlohmann::ordered_json::array();
  for (const Edge& edge : graph.edges) {
    edges.push_back({{"kind", edge.kind},
                     {"from", edge.from},
                     {"to", edge.to},
                     {"hooks", edge.hooks},
                     {"when", edge.when}});
  }
  return {{"schema", 1}, {"nodes", graph.ids}, {"edges", std::move(edges)}};
}

}  // namespace slipway::inspect
