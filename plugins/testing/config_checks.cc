// The checks of a plugin's configuration.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "plugins/testing/check.h"
#include "plugins/testing/forked.h"
#include "trainer/data/rng.h"
#include "trainer/plan/plan.h"

namespace slipway::testing {
namespace {

using plan::ConfigField;
using recipe::Node;
using Type = ConfigField::Type;

bool IsNumber(const ConfigField& field) {
  return field.type == Type::kInt || field.type == Type::kFloat;
}

Node Number(const ConfigField& field, double value) {
  return field.type == Type::kInt
             ? Node::Int(static_cast<int64_t>(std::llround(value)))
             : Node::Float(value);
}

// The values at which a field begins and ends.
std::vector<Node> Bounds(const ConfigField& field) {
  std::vector<Node> values = field.choices;
  if (field.type == Type::kBool) {
    values = {Node::Bool(false), Node::Bool(true)};
  }
  if (IsNumber(field)) {
    if (field.min) values.push_back(Number(field, *field.min));
    if (field.max) values.push_back(Number(field, *field.max));
  }
  return values;
}

// Values just outside of it, of its type and of others.
std::vector<Node> Outside(const ConfigField& field) {
  std::vector<Node> values;
  if (field.type == Type::kAny) return values;
  if (IsNumber(field)) {
    if (field.min) values.push_back(Number(field, *field.min - 1));
    if (field.max) values.push_back(Number(field, *field.max + 1));
    values.push_back(Node::String("no number"));
  }
  if (!field.choices.empty() && field.type == Type::kString) {
    values.push_back(Node::String("no such choice"));
  }
  if (field.type != Type::kMap) values.push_back(Node::Map());
  if (field.type != Type::kList) values.push_back(Node::List({Node::Int(1)}));
  return values;
}

// Whether a recipe can say this; the messages if not.
absl::Status Planned(const Subject& subject, const std::string& key,
                     const Node& value) {
  Node config = Node::Map();
  config.Set(key, value);
  Node entry = Node::Map();
  entry.Set("config", std::move(config));
  Node plugins = Node::Map();
  plugins.Set(subject.manifest.id, std::move(entry));
  Node recipe = Node::Map();
  recipe.Set("plugins", std::move(plugins));
  Problems problems;
  plan::Manifest alone = subject.manifest;
  alone.requires_.clear();
  alone.conflicts.clear();
  alone.platforms.clear();
  if (plan::ResolvePlan({alone}, recipe, plan::Environment(), problems)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(FormatProblems(problems));
}

std::string Setting(const std::string& key, const Node& value) {
  return absl::StrCat(key, ": ", value.ToDisplay());
}

// Creates with `config`; what it refuses is told with a key's name.
absl::Status Creates(const Subject& subject, const Node& config) {
  Components components;
  absl::StatusOr<RunningPlugin> running = Load(subject, config, components);
  if (!running.ok()) return running.status();
  running->plugin->Close();
  return absl::OkStatus();
}

bool NamesAKey(const Subject& subject, const std::string& message) {
  for (const ConfigField& field : subject.manifest.config) {
    if (absl::StrContains(message, field.key)) return true;
  }
  return false;
}

absl::Status CheckBounds(const Subject& subject, const ConfigField& field) {
  for (const Node& value : Bounds(field)) {
    const std::string setting = Setting(field.key, value);
    NowAt("with " + setting);
    absl::Status status = Planned(subject, field.key, value);
    if (status.ok()) {
      Node config = DefaultConfig(subject.manifest);
      config.Set(field.key, value);
      status = Creates(subject, config);
    }
    if (status.ok()) continue;
    return Found(absl::StrCat("with ", setting, ", which the manifest allows: ",
                              std::string(status.message())));
  }
  for (const Node& value : Outside(field)) {
    if (!Planned(subject, field.key, value).ok()) continue;
    return Found(absl::StrCat("takes ", Setting(field.key, value)));
  }
  return absl::OkStatus();
}

Node RandomTree(data::Rng& rng, int depth) {
  switch (rng.Below(depth > 0 ? 6 : 4)) {
    case 0:
      return Node::Bool(rng.Below(2) == 1);
    case 1:
      return Node::Int(rng.Below(7) - 3);
    case 2:
      return Node::Float(rng.Uniform(-2, 2));
    case 3:
      return Node::String(rng.Below(2) == 1 ? "" : "text");
    case 4:
      return Node::List(
          std::vector<Node>(rng.Below(3), RandomTree(rng, depth - 1)));
    default: {
      Node map = Node::Map();
      map.Set("default", RandomTree(rng, depth - 1));
      return map;
    }
  }
}

double RandomNumber(const ConfigField& field, data::Rng& rng) {
  const double low = field.min.value_or(-1e6);
  const double high = field.max.value_or(std::max(1e6, low + 1));
  switch (rng.Below(4)) {
    case 0:
      return low;
    case 1:
      return high;
    case 2:
      return low + (high - low) * 1e-6;
    default:
      return rng.Uniform(low, high);
  }
}

// A value that the manifest allows.
Node RandomValue(const ConfigField& field, data::Rng& rng) {
  if (rng.Below(4) == 0) return field.fallback;
  if (!field.choices.empty()) {
    return field.choices[rng.Below(field.choices.size())];
  }
  switch (field.type) {
    case Type::kBool:
      return Node::Bool(rng.Below(2) == 1);
    case Type::kInt:
    case Type::kFloat:
      return Number(field, RandomNumber(field, rng));
    case Type::kString:
      return Node::String(rng.Below(2) == 1 ? "" : "some text");
    case Type::kList:
      return Node::List(std::vector<Node>(rng.Below(3), RandomTree(rng, 1)));
    case Type::kMap: {
      Node map = Node::Map();
      if (rng.Below(2) == 1) map.Set("key", RandomTree(rng, 1));
      return map;
    }
    case Type::kAny:
      return RandomTree(rng, 2);
  }
  return Node();
}

}  // namespace

absl::Status TakesItsBounds(const Subject& subject) {
  const absl::Status status = Creates(subject, DefaultConfig(subject.manifest));
  if (!status.ok()) {
    return Found(
        absl::StrCat("with its defaults: ", std::string(status.message())));
  }
  if (Planned(subject, "no_such_key", Node::Int(1)).ok()) {
    return Found("takes a key that its manifest does not have");
  }
  for (const ConfigField& field : subject.manifest.config) {
    const absl::Status found = CheckBounds(subject, field);
    if (!found.ok()) return found;
  }
  return absl::OkStatus();
}

absl::Status TakesAnyConfig(const Subject& subject) {
  if (subject.manifest.config.empty()) {
    return NothingToCheck("it has no configuration");
  }
  constexpr int kRounds = 100;
  for (int i = 0; i < kRounds; ++i) {
    data::Rng rng(subject.seed, 0, i);
    Node config = Node::Map();
    for (const ConfigField& field : subject.manifest.config) {
      config.Set(field.key, RandomValue(field, rng));
    }
    const std::string place =
        absl::StrCat("with --seed=", subject.seed, ", number ", i, ": ",
                     config.ToJson().dump());
    NowAt(place);
    const absl::Status status = Creates(subject, config);
    const bool refused = absl::IsInvalidArgument(status) &&
                         NamesAKey(subject, std::string(status.message()));
    if (status.ok() || refused) continue;
    return Found(absl::StrCat(place, "\n", std::string(status.message())));
  }
  return absl::OkStatus();
}

}  // namespace slipway::testing
