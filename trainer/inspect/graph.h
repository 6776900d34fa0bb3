// Plugins and what ties them to each other, for Graphviz.
//
//   std::cout << ToDot(GraphOf(plan, manifests));   // | dot -Tsvg > plan.svg
//
// Pure functions.
#ifndef SLIPWAY_TRAINER_INSPECT_GRAPH_H_
#define SLIPWAY_TRAINER_INSPECT_GRAPH_H_

#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "trainer/plan/manifest.h"
#include "trainer/plan/planned.h"

namespace slipway::inspect {

struct Edge {
  // "order" (`from` runs before `to`), "requires" or "conflicts".
  std::string kind;
  std::string from;
  std::string to;
  // Of an order: the hooks in which one follows the other at once; empty where
  // a manifest demands it of all.
  std::vector<std::string> hooks;
  // The condition of a requirement or conflict; empty for none.
  std::string when;
};

struct Graph {
  std::vector<std::string> ids;
  std::vector<Edge> edges;
};

// The plugins of `plan` in the order of its hooks, and their relations.
Graph GraphOf(const plan::Plan& plan,
              const std::vector<plan::Manifest>& manifests);

// All plugins, with the order that their manifests demand.
Graph GraphOf(const std::vector<plan::Manifest>& manifests);

// Orders are arrows, requirements dashed ones, conflicts red lines.
std::string ToDot(const Graph& graph);

// {schema, nodes: [ids], edges: [{kind, from, to, hooks, when}]}.
nlohmann::ordered_json ToJson(const Graph& graph);

}  // namespace slipway::inspect

#endif  // SLIPWAY_TRAINER_INSPECT_GRAPH_H_
