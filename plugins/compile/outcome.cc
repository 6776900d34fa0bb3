#include "plugins/compile/outcome.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace slipway::compile {

using recipe::Node;

Node ToNode(const Outcome& outcome) {
  Node node = Node::Map();
  node.Set("graph", Node::String(outcome.graph));
  node.Set("scope", Node::String(outcome.scope));
  node.Set("candidate", Node::String(outcome.candidate));
  node.Set("speedup", Node::Float(outcome.speedup));
  node.Set("compile_seconds", Node::Float(outcome.compile_seconds));
  node.Set("cache", Node::String(outcome.cache));
  node.Set("reason",
           outcome.reason.empty() ? Node() : Node::String(outcome.reason));
  node.Set("nodes", Node::Int(outcome.nodes));
  node.Set("step", Node::Int(outcome.step));
  Node seconds = Node::Map();
  for (const auto& [candidate, value] : outcome.seconds) {
    seconds.Set(candidate, Node::Float(value));
  }
  node.Set("seconds", std::move(seconds));
  Node bytes = Node::Map();
  for (const auto& [candidate, value] : outcome.peak_bytes) {
    bytes.Set(candidate, Node::Int(value));
  }
  node.Set("peak_bytes", std::move(bytes));
  return node;
}

std::string ToText(const Outcome& outcome) {
  std::string text = outcome.scope == "step"
                         ? "the whole step "
                         : absl::StrCat("the ", outcome.graph, " graph ");
  if (outcome.failed()) {
    return absl::StrCat(text, "stays eager: ", outcome.reason);
  }
  if (outcome.compiled()) {
    absl::StrAppendFormat(&text, "runs compiled (%s), %.2f times as fast",
                          outcome.candidate, outcome.speedup);
  } else {
    absl::StrAppend(&text, "stays eager, which is the fastest");
  }
  absl::StrAppend(&text, "; seconds a batch:");
  for (const auto& [candidate, seconds] : outcome.seconds) {
    absl::StrAppendFormat(&text, " %s %.3g", candidate, seconds);
  }
  absl::StrAppend(&text, "; peak MB:");
  for (const auto& [candidate, bytes] : outcome.peak_bytes) {
    absl::StrAppendFormat(&text, " %s %.3g", candidate, 1e-6 * bytes);
  }
  absl::StrAppendFormat(
      &text, "; %d operations, %s", outcome.nodes,
      outcome.cache == "hit"
          ? std::string("from the cache")
          : absl::StrFormat("compiled in %.0f s", outcome.compile_seconds));
  return text;
}

}  // namespace slipway::compile
