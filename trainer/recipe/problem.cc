#include "trainer/recipe/problem.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"

namespace slipway {
namespace {

std::string_view Name(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      break;
  }
  return "note";
}

void AppendPart(std::string_view label, const std::string& text,
                std::string& out) {
  if (text.empty()) return;
  constexpr size_t kTextColumn = 10;
  out.append("  ").append(label).append(kTextColumn - 2 - label.size(), ' ');
  out += absl::StrReplaceAll(text, {{"\n", "\n          "}});
  out += '\n';
}

void AppendMark(std::string* out, const Mark& mark) { *out += ToString(mark); }

std::string FormatThoseOf(Severity severity, const Problems& problems) {
  std::string out;
  for (const Problem& problem : problems) {
    if (problem.severity == severity) out += FormatProblem(problem);
  }
  return out;
}

template <typename T>
nlohmann::json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace

std::string ToString(const Mark& mark) {
  std::string text = mark.file;
  if (mark.line > 0) absl::StrAppend(&text, ":", mark.line);
  if (mark.line > 0 && mark.column > 0)
    absl::StrAppend(&text, ":", mark.column);
  return text;
}

bool HasErrors(const Problems& problems) {
  return std::any_of(problems.begin(), problems.end(), [](const Problem& p) {
    return p.severity == Severity::kError;
  });
}

std::string FormatProblem(const Problem& problem) {
  std::string out(Name(problem.severity));
  out.append(": ").append(problem.message).append("\n");
  AppendPart("detail:", problem.detail, out);
  std::vector<Mark> places = problem.where;
  std::erase_if(places, [](const Mark& mark) { return mark.file.empty(); });
  AppendPart("where:", absl::StrJoin(places, ", ", AppendMark), out);
  AppendPart("hint:", problem.hint, out);
  return out;
}

std::string FormatProblems(const Problems& problems) {
  return FormatThoseOf(Severity::kError, problems) +
         FormatThoseOf(Severity::kWarning, problems) +
         FormatThoseOf(Severity::kNote, problems);
}

nlohmann::json ToJson(const Problem& problem) {
  nlohmann::json where = nlohmann::json::array();
  for (const Mark& mark : problem.where) {
    where.push_back(
        {{"file", mark.file}, {"line", mark.line}, {"column", mark.column}});
  }
  return {{"kind", problem.kind},
          {"severity", std::string(Name(problem.severity))},
          {"message", problem.message},
          {"detail", problem.detail},
          {"where", where},
          {"hint", problem.hint},
          {"plugins", problem.plugins},
          {"hook", problem.hook},
          {"step", OrNull(problem.step)},
          {"rank", OrNull(problem.rank)}};
}

nlohmann::json ToJson(const Problems& problems) {
  nlohmann::json list = nlohmann::json::array();
  for (const Problem& problem : problems) list.push_back(ToJson(problem));
  return list;
}

absl::Status ToStatus(const Problems& problems) {
  if (!HasErrors(problems)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      FormatThoseOf(Severity::kError, problems));
}

}  // namespace slipway
