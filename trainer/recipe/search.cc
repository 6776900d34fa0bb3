#include "trainer/recipe/search.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway::recipe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".yaml";

std::string_view WithoutExtension(std::string_view name) {
  if (name.ends_with(kExtension)) name.remove_suffix(kExtension.size());
  return name;
}

std::string Join(const std::string& folder, std::string_view name) {
  return (fs::path(folder) / name).string();
}

bool IsFile(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

void AddNames(const std::string& folder, std::set<std::string>& names) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == kExtension) {
      names.insert(entry->path().stem().string());
    }
  }
}

// The text of the first comment that says something.
std::string FirstComment(const std::string& file) {
  constexpr std::string_view kBlank = " \t\r#";
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    if (line[0] != '#') break;
    const size_t first = line.find_first_not_of(kBlank);
    if (first == line.npos) continue;
    const size_t last = line.find_last_not_of(" \t\r");
    return line.substr(first, last + 1 - first);
  }
  return {};
}

}  // namespace

SearchPath::SearchPath(std::vector<std::string> folders)
    : folders_(std::move(folders)) {}

std::optional<std::string> SearchPath::Find(std::string_view name) const {
  const std::string file =
      std::string(WithoutExtension(name)).append(kExtension);
  for (const std::string& folder : folders_) {
    std::string path = Join(folder, file);
    if (IsFile(path)) return path;
  }
  return std::nullopt;
}

bool SearchPath::HasGroup(std::string_view name) const {
  return std::any_of(folders_.begin(), folders_.end(),
                     [name](const std::string& folder) {
                       std::error_code error;
                       return fs::is_directory(Join(folder, name), error);
                     });
}

std::vector<std::string> SearchPath::Names(std::string_view group) const {
  std::set<std::string> names;
  for (const std::string& folder : folders_) {
    AddNames(Join(folder, group), names);
  }
  return {names.begin(), names.end()};
}

Problem SearchPath::NotFound(std::string_view name, std::string_view what,
                             std::vector<Mark> where) const {
  const size_t slash = name.rfind('/');
  const std::string_view group =
      slash == name.npos ? std::string_view() : name.substr(0, slash);
  const std::string choice(name.substr(slash == name.npos ? 0 : slash + 1));
  const std::vector<std::string> known = Names(group);
  std::string hint = DidYouMean(choice, known);
  if (hint.empty() && !known.empty()) {
    hint = "known are " + absl::StrJoin(known, ", ");
  }
  std::string detail = "no folders to search were given";
  if (!folders_.empty()) {
    detail = absl::StrCat("searched for ", std::string(WithoutExtension(name)),
                          std::string(kExtension), " in ",
                          absl::StrJoin(folders_, ", "));
  }
  return {
      .kind = "not_found",
      .message = absl::StrCat("no ", std::string(what), " \"", choice, "\""),
      .detail = std::move(detail),
      .where = std::move(where),
      .hint = std::move(hint)};
}

std::vector<RecipeSummary> ListRecipes(const SearchPath& path) {
  std::vector<RecipeSummary> recipes;
  for (const std::string& name : path.Names()) {
    const std::string file = path.Find(name).value_or("");
    recipes.push_back({name, file, FirstComment(file)});
  }
  return recipes;
}

}  // namespace slipway::recipe
