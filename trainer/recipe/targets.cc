#include "trainer/recipe/targets.h"

#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/recipe/merge.h"
#include "trainer/recipe/params.h"

namespace slipway::recipe {
namespace {

constexpr std::string_view kTarget = "_target_";
constexpr double kMaxItems = 100'000;

Node Arange(Params& params) {
  const double start = params.Double("start", {.fallback = 0});
  const double stop = params.Double("stop");
  const double step = params.Double("step", {.fallback = 1});
  const double count = std::ceil((stop - start) / step);
  if (step == 0 || !(count <= kMaxItems)) {
    params.Fail("step", "numpy.arange makes no finite list of sensible length",
                "give a step that leads from start to stop");
    return Node::List();
  }
  bool integers = true;
  for (const char* key : {"start", "stop", "step"}) {
    integers = integers && (!params.Has(key) || params.Raw(key)->is_int());
  }
  std::vector<Node> items;
  const double delta = (start + step) - start;  // as NumPy rounds it
  for (double i = 0; i < count; ++i) {
    const double value = start + i * delta;
    items.push_back(integers ? Node::Int(static_cast<int64_t>(value))
                             : Node::Float(value));
  }
  return Node::List(std::move(items));
}

Node EmptyList(Params&) { return Node::List(); }

Node Value(Params& params) {
  const Node* const value = params.Raw("value");
  if (value != nullptr && value->is_bool()) return *value;
  return Node::String(params.Text("value"));
}

Node DotPath(Params& params) { return Node::String(params.Text("dotpath")); }

struct Function {
  std::string_view name;
  Node (*call)(Params&);  // null: the map stays
};

constexpr Function kFunctions[] = {
    {"numpy.arange", Arange},
    {"super_gradients.training.utils.utils.empty_list", EmptyList},
    {"super_gradients.training.utils.utils.load_func", DotPath},
    {"super_gradients.training.sg_trainer.StrictLoad", Value},
    {"super_gradients.training.sg_trainer.sg_trainer.StrictLoad", Value},
    {"super_gradients.training.utils.callbacks.Phase", Value},
    {"super_gradients.training.utils.callbacks.base_callbacks.Phase", Value},
    {"super_gradients.training.utils.callbacks.callbacks.Phase", Value},
    {"super_gradients.training.utils.segmentation_utils."
     "coco_sub_classes_inclusion_tuples_list",
     nullptr},
};

const Function* FindFunction(std::string_view name) {
  for (const Function& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

bool IsClass(std::string_view name) {
  const size_t dot = name.rfind('.');
  const std::string_view last = name.substr(dot == name.npos ? 0 : dot + 1);
  return !last.empty() && std::isupper(static_cast<unsigned char>(last[0]));
}

void FailUnknown(const Node& target, Problems& problems) {
  std::vector<std::string> known;
  for (const Function& function : kFunctions) known.emplace_back(function.name);
  std::string hint =
      target.is_string() ? DidYouMean(target.AsString(), known) : "";
  if (hint.empty()) {
    hint =
        "it is a class that a plugin has, or one of a few functions such as "
        "numpy.arange";
  }
  problems.push_back({.kind = "recipe",
                      .message = "unknown _target_ " + target.ToDisplay(),
                      .where = {target.mark()},
                      .hint = std::move(hint)});
}

// The value of the call that `node` is; nothing if it stays as it is.
std::optional<Node> Call(const Node& node, Problems& problems) {
  const Node* const target = node.Find(kTarget);
  if (target == nullptr) return std::nullopt;
  const std::string name = target->is_string() ? target->AsString() : "";
  const Function* const function = FindFunction(name);
  if (function == nullptr) {
    if (!IsClass(name)) FailUnknown(*target, problems);
    return std::nullopt;
  }
  if (function->call == nullptr) return std::nullopt;
  Params params(node, name, problems);
  params.Ignore(kTarget);
  params.Ignore("_convert_");
  Node value = function->call(params);
  params.Finish();
  value.set_mark(node.mark());
  SetOrder(node.order(), value);
  return value;
}

}  // namespace

void ResolveTargets(Node& recipe, Problems& problems) {
  for (Node& item : recipe.mutable_items()) ResolveTargets(item, problems);
  for (Node::Entry& entry : recipe.mutable_entries()) {
    ResolveTargets(entry.value, problems);
  }
  if (std::optional<Node> value = Call(recipe, problems)) {
    recipe = *std::move(value);
  }
}

}  // namespace slipway::recipe
