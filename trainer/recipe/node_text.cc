// Node as text: JSON, YAML and the short form of messages.
#include <cmath>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "trainer/recipe/node.h"
#include "trainer/recipe/scalar.h"

namespace slipway::recipe {
namespace {

using Kind = Node::Kind;

std::string Quote(const std::string& text) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  return nlohmann::json(text).dump(-1, ' ', false, kReplace);
}

// As Quote, with the characters escaped that YAML allows only so: JSON leaves
// DEL, U+0080 to U+009F, U+FFFE and U+FFFF as they are.
std::string QuoteForYaml(const std::string& text) {
  const std::string quoted = Quote(text);
  std::string out;
  for (size_t i = 0; i < quoted.size(); ++i) {
    const auto at = [&quoted, i](size_t next) {
      return i + next < quoted.size()
                 ? static_cast<unsigned char>(quoted[i + next])
                 : 0u;
    };
    if (at(0) == 0x7F) {
      out += "\\x7f";
    } else if (at(0) == 0xC2 && at(1) < 0xA0) {
      absl::StrAppend(&out, "\\x", absl::Hex(at(1), absl::kZeroPad2));
      i += 1;
    } else if (at(0) == 0xEF && at(1) == 0xBF && at(2) >= 0xBE) {
      out += at(2) == 0xBE ? "\\ufffe" : "\\uffff";
      i += 2;
    } else {
      out += quoted[i];
    }
  }
  return out;
}

// Only words that no reader could take for something else go unquoted.
bool IsPlainSafe(std::string_view text) {
  constexpr std::string_view kFirst =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/";
  constexpr std::string_view kOthers =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/0123456789.+-";
  return !text.empty() && kFirst.find(text[0]) != kFirst.npos &&
         text.find_first_not_of(kOthers) == text.npos &&
         ParsePlainScalar(text).is_string();
}

std::string YamlText(const std::string& text) {
  return IsPlainSafe(text) ? text : QuoteForYaml(text);
}

std::string YamlFloat(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value < 0 ? "-.inf" : ".inf";
  return FloatText(value);
}

// A scalar or an empty container on one line.
std::string YamlLeaf(const Node& node) {
  switch (node.kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return node.AsBool() ? "true" : "false";
    case Kind::kInt:
      return absl::StrCat(node.AsInt());
    case Kind::kFloat:
      return YamlFloat(node.AsDouble());
    case Kind::kString:
      return YamlText(node.AsString());
    case Kind::kList:
      return "[]";
    case Kind::kMap:
      break;
  }
  return "{}";
}

bool IsLeaf(const Node& node) {
  return node.items().empty() && node.entries().empty();
}

// Writes `node` after a `key:` or `-` on the line before.
void AppendYaml(const Node& node, int indent, std::string& out);

void AppendYamlChild(const Node& node, int indent, std::string& out) {
  if (IsLeaf(node)) {
    absl::StrAppend(&out, " ", YamlLeaf(node), "\n");
    return;
  }
  out += '\n';
  AppendYaml(node, indent + 2, out);
}

void AppendYaml(const Node& node, int indent, std::string& out) {
  for (const Node& item : node.items()) {
    out.append(indent, ' ').append("-");
    AppendYamlChild(item, indent, out);
  }
  for (const Node::Entry& entry : node.entries()) {
    out.append(indent, ' ').append(YamlText(entry.key)).append(":");
    AppendYamlChild(entry.value, indent, out);
  }
}

constexpr size_t kDisplayLength = 60;

// Stops descending once the text is longer than any message shows.
void AppendDisplay(const Node& node, std::string& out) {
  if (out.size() > kDisplayLength) return;
  if (node.is_string()) {
    out += Quote(node.AsString());
  } else if (node.is_list()) {
    out += '[';
    for (size_t i = 0; i < node.items().size(); ++i) {
      if (i > 0) out += ", ";
      AppendDisplay(node.items()[i], out);
    }
    out += ']';
  } else if (node.is_map()) {
    out += '{';
    for (size_t i = 0; i < node.entries().size(); ++i) {
      const Node::Entry& entry = node.entries()[i];
      absl::StrAppend(&out, i > 0 ? ", " : "", YamlText(entry.key), ": ");
      AppendDisplay(entry.value, out);
    }
    out += '}';
  } else {
    out += YamlLeaf(node);
  }
}

// Cuts before `limit` without splitting a UTF-8 character.
std::string Shorten(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  constexpr std::string_view kDots = "...";
  size_t end = limit - kDots.size();
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  text.resize(end);
  return text.append(kDots);
}

nlohmann::ordered_json JsonFloat(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value < 0 ? "-inf" : "inf";
}

}  // namespace

nlohmann::ordered_json Node::ToJson() const {
  using Json = nlohmann::ordered_json;
  switch (kind_) {
    case Kind::kNull:
      return nullptr;
    case Kind::kBool:
      return bool_;
    case Kind::kInt:
      return int_;
    case Kind::kFloat:
      return JsonFloat(float_);
    case Kind::kString:
      return string_;
    case Kind::kList: {
      Json list = Json::array();
      for (const Node& item : items_) list.push_back(item.ToJson());
      return list;
    }
    case Kind::kMap:
      break;
  }
  Json map = Json::object();
  for (const Entry& entry : entries_) map[entry.key] = entry.value.ToJson();
  return map;
}

std::string Node::ToYaml() const {
  if (IsLeaf(*this)) return YamlLeaf(*this) + "\n";
  std::string out;
  AppendYaml(*this, 0, out);
  return out;
}

std::string Node::ToDisplay() const {
  std::string out;
  AppendDisplay(*this, out);
  return Shorten(std::move(out), kDisplayLength);
}

std::ostream& operator<<(std::ostream& out, const Node& node) {
  return out << node.ToDisplay();
}

}  // namespace slipway::recipe
