// What is wrong with what a user wrote, or worth knowing about it.
//
// Reading a recipe, a manifest or a plan finds many things at once. Such code
// appends a Problem for each of them and goes on; the caller prints them all:
//
//   Problems problems;
//   std::optional<Node> recipe = Compose(request, problems);
//   std::cerr << FormatProblems(problems);
//   if (!recipe) return 2;
//
// A function that takes `Problems&` returns a value if and only if it appended
// no problem of Severity::kError. Values only: safe to copy between threads.
#ifndef SLIPWAY_TRAINER_RECIPE_PROBLEM_H_
#define SLIPWAY_TRAINER_RECIPE_PROBLEM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

namespace slipway {

// A place in a file: 1-based line and column, 0 where unknown. `file` is as the
// user would write it, or "command line" for overrides (`column` is then the
// number of the argument).
struct Mark {
  std::string file = {};
  int line = 0;
  int column = 0;

  bool operator==(const Mark&) const = default;
};

// "recipes/x.yaml:14:3", "recipes/x.yaml:14" or "command line".
std::string ToString(const Mark& mark);

enum class Severity { kError, kWarning, kNote };

struct Problem {
  // Where the problem belongs: conflict, requires, claim, version, order,
  // not_found, status, manifest, abi, recipe, value, data, checkpoint, hook,
  // non_finite or peer.
  std::string kind = {};
  Severity severity = Severity::kError;
  // One lower-case sentence that quotes the user's value.
  std::string message = {};
  // What was expected and what was found; may have several lines.
  std::string detail = {};
  // Every place that takes part, the user's first.
  std::vector<Mark> where = {};
  // What to do next.
  std::string hint = {};
  // Ids of the plugins that take part.
  std::vector<std::string> plugins = {};
  // Set when it arose while training.
  std::string hook = {};
  std::optional<int64_t> step = {};
  std::optional<int> rank = {};
};

using Problems = std::vector<Problem>;

// True if any problem is an error.
bool HasErrors(const Problems& problems);

// A problem in four indented lines at most: message, detail, where, hint.
// Empty parts are left out. Ends with a newline.
//
//   error: no plugin "emma"
//     where:  recipes/x.yaml:14:3
//     hint:   did you mean "ema"?
std::string FormatProblem(const Problem& problem);

// All problems, errors first, then warnings, then notes; each group in the
// order in which it was found.
std::string FormatProblems(const Problems& problems);

// The contracts' JSON object of a problem: every field present, null for a step
// or rank that is not set. Paths and quoted text may hold bytes that are not
// UTF-8: dump it with nlohmann's error_handler_t::replace.
nlohmann::json ToJson(const Problem& problem);
nlohmann::json ToJson(const Problems& problems);

// OK without errors; else FAILED_PRECONDITION with the errors' text.
absl::Status ToStatus(const Problems& problems);

// The name among `known` that `name` most likely meant, by edit distance
// relative to its length and by case and separators; empty if none is near.
std::string NearestName(std::string_view name,
                        const std::vector<std::string>& known);

// `, did you mean "x"?`-like hints are built here so that all sound alike:
// "did you mean \"ema\"?" or "" if nothing is near.
std::string DidYouMean(std::string_view name,
                       const std::vector<std::string>& known);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_RECIPE_PROBLEM_H_
