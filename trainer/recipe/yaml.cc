#include "trainer/recipe/yaml.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "trainer/recipe/scalar.h"
#include "trainer/recipe/yaml_builder.h"
#include "trainer/recipe/yaml_text.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/parser.h"

namespace slipway::recipe {
namespace {

constexpr size_t kMaxBytes = 4 << 20;

void DescribeSyntax(const YamlText& text, const YAML::Exception& error,
                    Problem& problem) {
  problem.detail = error.msg;
  problem.where = {text.PlaceOf(error.mark)};
  if (error.mark.is_null()) return;
  const std::string line = Node::String(text.LineOf(error.mark)).ToDisplay();
  absl::StrAppend(&problem.detail, ", at ", line);
  if (error.msg == YAML::ErrorMsg::END_OF_MAP ||
      error.msg == YAML::ErrorMsg::MAP_VALUE) {
    problem.hint =
        "look here, and in the line above, at the indentation and for a key "
        "without a colon and a space after it";
  }
}

// Lets yaml-cpp tell `builder` what is in the text; true if all of it was read.
// yaml-cpp throws on wrong syntax, and the builder on what is too much.
bool Parse(const YamlText& text, YamlBuilder& builder, Problem& problem) {
  try {
    std::istringstream stream(text.text());
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return true;
  } catch (const YAML::Exception& error) {
    DescribeSyntax(text, error, problem);
  } catch (const std::exception& error) {
    problem.detail = error.what();
    problem.where = {{text.file()}};
  }
  return false;
}

Problem CannotRead(const std::string& path, std::string_view kind,
                   std::string detail) {
  return {.kind = std::string(kind),
          .message = absl::StrCat("cannot read \"", path, "\""),
          .detail = std::move(detail),
          .where = {{path}}};
}

// The whole file; a problem's detail in `error` if there is none.
std::optional<std::string> ReadFile(const std::string& path,
                                    std::string& error) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) {
    error = "there is no such file";
  } else if (std::filesystem::is_directory(status)) {
    error = "it is a folder";
  }
  if (!error.empty()) return std::nullopt;
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  char block[1 << 14];
  // One block too many is enough to know that a file is too large; a device
  // may have no end.
  while (text.size() <= kMaxBytes && stream) {
    stream.read(block, sizeof(block));
    text.append(block, static_cast<size_t>(stream.gcount()));
  }
  if (!stream.is_open() || stream.bad()) {
    error = std::strerror(errno);
    return std::nullopt;
  }
  return text;
}

void SetMarks(Node& node, const Mark& mark) {
  node.set_mark(mark);
  for (Node& item : node.mutable_items()) SetMarks(item, mark);
  for (Node::Entry& entry : node.mutable_entries()) {
    entry.key_mark = mark;
    SetMarks(entry.value, mark);
  }
}

}  // namespace

std::optional<Node> ParseYaml(std::string_view text, const std::string& file,
                              Problems& problems, std::string_view kind) {
  Problem unreadable = CannotRead(file, kind, "");
  if (text.size() > kMaxBytes) {
    unreadable.detail = absl::StrCat("it has more than ", kMaxBytes, " bytes");
    problems.push_back(std::move(unreadable));
    return std::nullopt;
  }
  const YamlText prepared(text, file);
  if (!prepared.Check(unreadable)) {
    problems.push_back(std::move(unreadable));
    return std::nullopt;
  }
  Problems found;
  YamlBuilder builder(prepared, std::string(kind), found);
  if (!Parse(prepared, builder, unreadable)) found.push_back(unreadable);
  problems.insert(problems.end(), found.begin(), found.end());
  if (!found.empty()) return std::nullopt;
  return builder.TakeRoot();
}

std::optional<Node> ReadYamlFile(const std::string& path, Problems& problems,
                                 std::string_view kind) {
  std::string error;
  const std::optional<std::string> text = ReadFile(path, error);
  if (text) return ParseYaml(*text, path, problems, kind);
  problems.push_back(CannotRead(path, kind, std::move(error)));
  return std::nullopt;
}

std::optional<Node> ParseYamlValue(std::string_view text, const Mark& mark,
                                   Problems& problems) {
  constexpr std::string_view kFlowOrQuoted = "[{\"'";
  if (text.empty() || kFlowOrQuoted.find(text[0]) == text.npos) {
    Node word = ParsePlainScalar(text);
    word.set_mark(mark);
    return word;
  }
  Problems found;
  std::optional<Node> value = ParseYaml(text, mark.file, found);
  for (Problem& problem : found) {
    if (problem.detail.empty()) problem.detail = problem.message;
    problem.where = {mark};
    problem.message =
        "cannot read the value " + Node::String(std::string(text)).ToDisplay();
    problems.push_back(std::move(problem));
  }
  if (value) SetMarks(*value, mark);
  return value;
}

}  // namespace slipway::recipe
