#include "trainer/recipe/resolvers.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/recipe/scalar.h"

namespace slipway::recipe {
namespace {

using Arguments = std::vector<Node>;
using Result = absl::StatusOr<Node>;
using Resolver = Result (*)(const Arguments&, const ResolverContext&);

absl::Status Expected(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", std::string(what)));
}

bool AreNumbers(const Arguments& arguments) {
  for (const Node& argument : arguments) {
    if (!argument.is_number()) return false;
  }
  return !arguments.empty();
}

bool IsTrue(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::kNull:
      return false;
    case Node::Kind::kBool:
      return node.AsBool();
    case Node::Kind::kInt:
    case Node::Kind::kFloat:
      return node.AsDouble() != 0;
    case Node::Kind::kString:
      return !node.AsString().empty();
    default:
      return !node.items().empty() || !node.entries().empty();
  }
}

// Folds numbers: as integers while all are, and they fit.
template <typename Exact, typename Rounded>
Result Fold(const Arguments& arguments, Exact exact, Rounded rounded) {
  if (!AreNumbers(arguments)) return Expected("numbers");
  Node total = arguments[0];
  for (size_t i = 1; i < arguments.size(); ++i) {
    const Node& next = arguments[i];
    int64_t value = 0;
    if (!total.is_int() || !next.is_int()) {
      total = Node::Float(rounded(total.AsDouble(), next.AsDouble()));
    } else if (!exact(total.AsInt(), next.AsInt(), &value)) {
      total = Node::Int(value);
    } else {
      return absl::InvalidArgumentError("the result does not fit in 64 bits");
    }
  }
  return total;
}

Result Add(const Arguments& arguments, const ResolverContext&) {
  return Fold(
      arguments,
      [](int64_t a, int64_t b, int64_t* sum) {
        return __builtin_add_overflow(a, b, sum);
      },
      [](double a, double b) { return a + b; });
}

Result Multiply(const Arguments& arguments, const ResolverContext&) {
  return Fold(
      arguments,
      [](int64_t a, int64_t b, int64_t* product) {
        return __builtin_mul_overflow(a, b, product);
      },
      [](double a, double b) { return a * b; });
}

Result Divide(const Arguments& arguments, const ResolverContext&) {
  if (arguments.size() != 2 || !AreNumbers(arguments)) {
    return Expected("two numbers");
  }
  const double divisor = arguments[1].AsDouble();
  if (divisor == 0) return Expected("a divisor other than 0");
  return Node::Float(arguments[0].AsDouble() / divisor);
}

Result Choose(const Arguments& arguments, const ResolverContext&) {
  if (arguments.size() != 3) return Expected("a condition and two values");
  return arguments[IsTrue(arguments[0]) ? 1 : 2];
}

Result ItemAt(const Node& list, int64_t position) {
  const int64_t size = static_cast<int64_t>(list.items().size());
  const int64_t index = position < 0 ? position + size : position;
  if (index < 0 || index >= size) {
    return absl::InvalidArgumentError(
        absl::StrCat("a list of ", size, " has no item ", position));
  }
  return list.items()[static_cast<size_t>(index)];
}

Result GetItem(const Arguments& arguments, const ResolverContext&) {
  if (arguments.size() != 2) return Expected("a list or map, and a key");
  const Node& container = arguments[0];
  const Node& key = arguments[1];
  if (container.is_list() && key.is_int()) {
    return ItemAt(container, key.AsInt());
  }
  if (!container.is_map()) return Expected("a list and a position, or a map");
  const Node* const found = container.Find(PythonText(key));
  if (found != nullptr) return *found;
  return absl::InvalidArgumentError(
      absl::StrCat("there is no key \"", PythonText(key), "\" among ",
                   absl::StrJoin(container.keys(), ", ")));
}

Result First(const Arguments& arguments, const ResolverContext&) {
  if (arguments.size() != 1 || !arguments[0].is_list()) {
    return Expected("a list");
  }
  return ItemAt(arguments[0], 0);
}

Result Last(const Arguments& arguments, const ResolverContext&) {
  if (arguments.size() != 1 || !arguments[0].is_list()) {
    return Expected("a list");
  }
  return ItemAt(arguments[0], -1);
}

Result Length(const Arguments& arguments, const ResolverContext&) {
  if (arguments.size() != 1) return Expected("one list, map or text");
  const Node& node = arguments[0];
  if (node.is_list()) return Node::Int(node.items().size());
  if (node.is_map()) return Node::Int(node.entries().size());
  if (!node.is_string()) return Expected("a list, map or text");
  int64_t characters = 0;
  for (char c : node.AsString()) characters += (c & 0xC0) != 0x80;
  return Node::Int(characters);
}

Result ClassName(const Arguments& arguments, const ResolverContext&) {
  if (arguments.size() != 1 || !arguments[0].is_string()) {
    return Expected("a name");
  }
  return arguments[0];
}

Result OutputDir(const Arguments& arguments, const ResolverContext&) {
  if (arguments.size() != 2) return Expected("a folder and a name");
  const std::string root =
      arguments[0].is_null() ? "checkpoints" : PythonText(arguments[0]);
  return Node::String(absl::StrCat(root, "/", PythonText(arguments[1])));
}

Result RoboflowClasses(const Arguments& arguments,
                       const ResolverContext& context) {
  if (arguments.size() != 1) return Expected("the name of a data set");
  const std::string name = PythonText(arguments[0]);
  const auto found = context.roboflow_classes.find(name);
  if (found != context.roboflow_classes.end()) return Node::Int(found->second);
  return absl::InvalidArgumentError(
      absl::StrCat("the number of classes of \"", name,
                   "\" is not known here; set the key to that number instead"));
}

const std::map<std::string, Resolver, std::less<>>& Table() {
  static const auto* const kTable =
      new std::map<std::string, Resolver, std::less<>>{
          {"add", Add},
          {"class", ClassName},
          {"cond", Choose},
          {"div", Divide},
          {"first", First},
          {"getitem", GetItem},
          {"hydra_output_dir", OutputDir},
          {"last", Last},
          {"len", Length},
          {"mul", Multiply},
          {"roboflow_dataset_num_classes", RoboflowClasses}};
  return *kTable;
}

// Within lists and maps Python quotes text.
std::string Quoted(const Node& node) {
  if (!node.is_string()) return PythonText(node);
  const std::string& text = node.AsString();
  const char quote = text.find('\'') != text.npos ? '"' : '\'';
  return quote + text + quote;
}

}  // namespace

std::vector<std::string> ResolverNames() {
  std::vector<std::string> names;
  for (const auto& [name, resolver] : Table()) names.push_back(name);
  return names;
}

absl::StatusOr<Node> CallResolver(std::string_view name,
                                  const std::vector<Node>& arguments,
                                  const ResolverContext& context) {
  const auto found = Table().find(name);
  if (found != Table().end()) return found->second(arguments, context);
  return absl::InvalidArgumentError(
      absl::StrCat("there is no resolver \"", std::string(name),
                   "\"; known are ", absl::StrJoin(ResolverNames(), ", ")));
}

std::string PythonText(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::kNull:
      return "None";
    case Node::Kind::kBool:
      return node.AsBool() ? "True" : "False";
    case Node::Kind::kInt:
      return absl::StrCat(node.AsInt());
    case Node::Kind::kFloat:
      return FloatText(node.AsDouble());
    case Node::Kind::kString:
      return node.AsString();
    case Node::Kind::kList:
      return absl::StrCat("[",
                          absl::StrJoin(node.items(), ", ",
                                        [](std::string* out, const Node& item) {
                                          *out += Quoted(item);
                                        }),
                          "]");
    case Node::Kind::kMap:
      break;
  }
  const auto entry_text = [](std::string* out, const Node::Entry& entry) {
    absl::StrAppend(out, "'", entry.key, "': ", Quoted(entry.value));
  };
  return absl::StrCat("{", absl::StrJoin(node.entries(), ", ", entry_text),
                      "}");
}

}  // namespace slipway::recipe
