#include "trainer/recipe/yaml_text.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"

namespace slipway::recipe {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr uint32_t kInvalid = 0xFFFFFFFF;

bool IsContinuation(char c) { return (c & 0xC0) == 0x80; }

std::string WithPlainLineEnds(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      out += '\n';
    }
  }
  return out;
}

// The length of the character that starts with `lead`; 0 for no such start.
size_t LengthOf(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

// Takes the first character of `text`; kInvalid if it is not UTF-8.
uint32_t TakeCharacter(std::string_view& text) {
  const unsigned char lead = text[0];
  const size_t length = LengthOf(lead);
  if (length == 0 || length > text.size()) return kInvalid;
  uint32_t code = length == 1 ? lead : lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return kInvalid;
    code = code << 6 | (text[i] & 0x3F);
  }
  const bool overlong = (length == 3 && code < 0x800) ||
                        (length == 4 && (code < 0x10000 || code > 0x10FFFF));
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if (overlong || surrogate) return kInvalid;
  text.remove_prefix(length);
  return code;
}

bool IsForbidden(uint32_t code) {
  constexpr uint32_t kNextLine = 0x85;
  if (code < 0x20) return code != '\t' && code != '\n';
  if (code >= 0x7F && code < 0xA0) return code != kNextLine;
  return code == 0xFFFE || code == 0xFFFF;
}

}  // namespace

YamlText::YamlText(std::string_view text, std::string file)
    : file_(std::move(file)) {
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  text_ = WithPlainLineEnds(text);
}

bool YamlText::Check(Problem& problem) const {
  return CheckCharacters(problem) && CheckDirectives(problem);
}

bool YamlText::CheckCharacters(Problem& problem) const {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const size_t offset = text_.size() - rest.size();
    const uint32_t code = TakeCharacter(rest);
    if (code != kInvalid && !IsForbidden(code)) continue;
    problem.where = {PlaceOfOffset(offset)};
    problem.detail =
        code == kInvalid
            ? absl::StrFormat("byte 0x%02X is not UTF-8",
                              static_cast<uint8_t>(text_[offset]))
            : absl::StrFormat("character U+%04X is not allowed", code);
    return false;
  }
  return true;
}

// yaml-cpp takes any line with a % in front for a directive; only two kinds are
// real, and only before the document.
bool YamlText::CheckDirectives(Problem& problem) const {
  bool in_document = false;
  for (size_t start = 0; start < text_.size();) {
    const size_t end = std::min(text_.find('\n', start), text_.size());
    const auto line = std::string_view(text_).substr(start, end - start);
    const size_t first = line.find_first_not_of(' ');
    const bool known = line.starts_with("%YAML ") || line.starts_with("%TAG ");
    if (line.starts_with('%') && (in_document || !known)) {
      problem.where = {PlaceOfOffset(start)};
      problem.detail = "a line begins with %";
      problem.hint = "quote it if it is text";
      return false;
    }
    if (first != line.npos && line[first] != '#' && !known) in_document = true;
    start = end + 1;
  }
  return true;
}

Mark YamlText::PlaceOf(const YAML::Mark& mark) const {
  if (mark.is_null()) return {file_};
  const size_t offset = OffsetOf(mark);
  const size_t column = static_cast<size_t>(std::max(mark.column, 0));
  const size_t start = offset - std::min(offset, column);
  const auto bytes = std::string_view(text_).substr(start, offset - start);
  const auto continuations =
      std::count_if(bytes.begin(), bytes.end(), IsContinuation);
  return {file_, mark.line + 1,
          static_cast<int>(bytes.size() - continuations) + 1};
}

std::string YamlText::LineOf(const YAML::Mark& mark) const {
  const size_t offset = OffsetOf(mark);
  const size_t start = offset == 0 ? 0 : text_.rfind('\n', offset - 1) + 1;
  const size_t end = text_.find('\n', start);
  std::string_view line = std::string_view(text_).substr(start, end - start);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  line = line.substr(0, line.find_last_not_of(' ') + 1);
  return std::string(line);
}

bool YamlText::HasTabBefore(const YAML::Mark& mark) const {
  const std::string_view before =
      std::string_view(text_).substr(0, OffsetOf(mark));
  const size_t blank = before.find_last_not_of(" \t");
  const size_t start = blank == before.npos ? 0 : blank + 1;
  return before.substr(start).find('\t') != before.npos;
}

bool YamlText::IsFirstOnLine(const YAML::Mark& mark) const {
  const std::string_view before =
      std::string_view(text_).substr(0, OffsetOf(mark));
  const size_t last = before.find_last_not_of(" \t");
  return last == before.npos || before[last] == '\n';
}

bool YamlText::HasColonAfter(const YAML::Mark& mark) const {
  const std::string_view text = text_;
  const size_t offset = OffsetOf(mark);
  const size_t before = text.substr(0, offset).find_last_not_of(' ');
  if (before != text.npos && text[before] == '?') return true;
  std::string_view line = text.substr(offset);
  line = line.substr(0, line.find('\n'));
  const bool quoted = line.starts_with('"') || line.starts_with('\'');
  if (!quoted) line = line.substr(0, line.find(" #"));
  return line.ends_with(':') || line.find(": ") != line.npos ||
         line.find(":\t") != line.npos;
}

bool YamlText::IsClosed(const YAML::Mark& mark) const {
  const size_t offset = OffsetOf(mark);
  if (offset == text_.size()) return true;
  const char quote = text_[offset];
  if (quote != '"' && quote != '\'') return true;
  for (size_t i = offset + 1; i < text_.size(); ++i) {
    if (quote == '"' && text_[i] == '\\') {
      ++i;
    } else if (text_[i] == quote) {
      const bool doubled = i + 1 < text_.size() && text_[i + 1] == quote;
      if (quote == '"' || !doubled) return true;
      ++i;
    }
  }
  return false;
}

bool YamlText::HasNullAt(const YAML::Mark& mark) const {
  const std::string_view rest = std::string_view(text_).substr(OffsetOf(mark));
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t\n,]}:"));
  return word == "~" || word == "null" || word == "Null" || word == "NULL";
}

Mark YamlText::PlaceOfOffset(size_t offset) const {
  const std::string_view before = std::string_view(text_).substr(0, offset);
  YAML::Mark mark;
  mark.pos = static_cast<int>(offset);
  mark.line = static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  mark.column = static_cast<int>(offset - (before.rfind('\n') + 1));
  return PlaceOf(mark);
}

size_t YamlText::OffsetOf(const YAML::Mark& mark) const {
  return std::min(static_cast<size_t>(std::max(mark.pos, 0)), text_.size());
}

}  // namespace slipway::recipe
