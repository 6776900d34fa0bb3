#include "launcher/target.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

void Fail(std::string message, std::string hint, Problems& problems) {
  problems.push_back({.kind = "not_found",
                      .message = std::move(message),
                      .where = {{.file = "command line"}},
                      .hint = std::move(hint)});
}

bool IsTrainersWord(const std::string& word) {
  if (word.empty() || word[0] == '.' || word[0] == '/') return false;
  return word[0] == '-' || word[0] == '+' || word[0] == '~' ||
         word.find('=') != word.npos;
}

bool IsProgram(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::string OnPath(const std::string& name, const std::string& path) {
  for (absl::string_view folder : absl::StrSplit(path, ':')) {
    const std::string candidate =
        absl::StrCat(folder.empty() ? "." : folder, "/", name);
    if (IsProgram(candidate)) return candidate;
  }
  return "";
}

std::optional<Target> FindProgram(const std::vector<std::string>& words,
                                  const TargetSearch& search,
                                  Problems& problems) {
  const std::string& name = words[0];
  const bool is_path = name.find('/') != name.npos;
  std::string program = is_path ? name : OnPath(name, search.path);
  std::error_code error;
  if (is_path && !fs::exists(program, error)) {
    Fail(absl::StrCat("no program \"", name, "\""),
         absl::StrCat("paths are meant from ", fs::current_path().string()),
         problems);
    return std::nullopt;
  }
  if (is_path && !IsProgram(program)) {
    Fail(absl::StrCat("\"", name, "\" is no program that may be executed"),
         "a script needs its interpreter before it, or chmod +x", problems);
    return std::nullopt;
  }
  if (program.empty()) {
    Fail(absl::StrCat("no program \"", name, "\" on PATH"),
         "write its path, or for the trainer a flag first: --recipe=...",
         problems);
    return std::nullopt;
  }
  Target target = {.argv = words};
  target.argv[0] = std::move(program);
  target.is_trainer = !search.trainer.empty() &&
                      fs::equivalent(target.argv[0], search.trainer, error);
  return target;
}

}  // namespace

std::optional<Target> FindTarget(const std::vector<std::string>& words,
                                 const TargetSearch& search,
                                 Problems& problems) {
  if (!IsTrainersWord(words[0])) return FindProgram(words, search, problems);
  if (search.trainer.empty()) {
    Fail("the trainer is not beside the launcher",
         "name it: launcher -- PATH/OF/trainer --recipe=...", problems);
    return std::nullopt;
  }
  Target target = {.is_trainer = true, .argv = {search.trainer}};
  target.argv.insert(target.argv.end(), words.begin(), words.end());
  return target;
}

}  // namespace slipway::launcher
