#include "trainer/report/html/run_data.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/recipe/problem.h"
#include "trainer/recipe/yaml.h"

namespace slipway::html {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

Json Parse(const std::string& text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

int64_t Integer(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<int64_t>() : 0;
}

std::string Text(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>()
                                                   : "";
}

// What a training did before it went back to `line`'s step is not its history.
void AddStep(Json line, RunData& run) {
  const int64_t step = Integer(line, "step");
  while (!run.steps.empty() && Integer(run.steps.back(), "step") >= step) {
    run.steps.pop_back();
  }
  run.steps.push_back(std::move(line));
}

// An evaluation in the middle of an epoch is one of its own: its step differs.
void AddEpoch(Json line, RunData& run) {
  const auto replaced = [&line](const Json& other) {
    return Text(other, "split") == Text(line, "split") &&
           Integer(other, "step") >= Integer(line, "step");
  };
  std::erase_if(run.epochs, replaced);
  run.epochs.push_back(std::move(line));
}

void AddLine(Json line, RunData& run) {
  const std::string kind = Text(line, "kind");
  if (kind == "step") AddStep(std::move(line), run);
  if (kind == "epoch") AddEpoch(std::move(line), run);
  if (kind == "event") run.events.push_back(std::move(line));
}

void ReadMetrics(const fs::path& path, RunData& run) {
  const std::optional<std::string> text = ReadText(path);
  if (!text) {
    run.notes.push_back("metrics.jsonl is missing");
    return;
  }
  int number = 0;
  for (size_t begin = 0; begin < text->size();) {
    const size_t end = text->find('\n', begin);
    ++number;
    if (end == text->npos) {
      run.notes.push_back("the last line of metrics.jsonl is cut");
      return;
    }
    Json line = Parse(text->substr(begin, end - begin));
    begin = end + 1;
    if (line.is_object()) {
      AddLine(std::move(line), run);
    } else {
      run.notes.push_back(
          absl::StrCat("metrics.jsonl:", number, ": this line is no JSON"));
    }
  }
}

Json ReadJson(const fs::path& path, RunData& run) {
  const std::optional<std::string> text = ReadText(path);
  if (!text) return Json();
  Json json = Parse(*text);
  if (json.is_object()) return json;
  run.notes.push_back(absl::StrCat(path.filename().string(), " is not whole"));
  return Json();
}

void Flatten(const std::string& prefix, const Json& value, RunData& run) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, child] : value.items()) {
      Flatten(prefix.empty() ? key : absl::StrCat(prefix, ".", key), child,
              run);
    }
    return;
  }
  run.recipe[prefix] =
      value.is_string() ? value.get<std::string>() : value.dump();
}

void ReadRecipe(const fs::path& path, RunData& run) {
  const std::optional<std::string> text = ReadText(path);
  if (!text) return;
  Problems problems;
  const auto recipe = recipe::ParseYaml(*text, path.string(), problems);
  if (!recipe || HasErrors(problems)) {
    run.notes.push_back("recipe.yaml cannot be read");
    return;
  }
  Flatten("", recipe->ToJson(), run);
}

bool HoldsRun(const fs::path& folder) {
  for (const char* file : {"metrics.jsonl", "result.json", "recipe.yaml"}) {
    std::error_code error;
    if (fs::exists(folder / file, error)) return true;
  }
  return false;
}

// "RUN_..." means little without its experiment.
std::string NameOf(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with("RUN_")) return name;
  return absl::StrCat(folder.parent_path().filename().string(), "/", name);
}

double LossOf(const Json& step) {
  const auto loss = step.find("loss");
  if (loss != step.end() && loss->is_number()) return loss->get<double>();
  // "nan" and its like are what nobody wants to miss.
  return std::numeric_limits<double>::infinity();
}

}  // namespace

absl::StatusOr<RunData> ReadRun(const std::string& folder) {
  std::error_code error;
  fs::path path = fs::canonical(folder, error);
  if (error || !fs::is_directory(path, error) || !HoldsRun(path)) {
    return absl::NotFoundError(
        absl::StrCat(folder, " is no run's folder: it has no metrics.jsonl"));
  }
  RunData run;
  run.path = path.string();
  run.name = NameOf(path);
  ReadMetrics(path / "metrics.jsonl", run);
  run.result = ReadJson(path / "result.json", run);
  run.plan = ReadJson(path / "plan.json", run);
  ReadRecipe(path / "recipe.yaml", run);
  return run;
}

std::vector<std::string> FindRuns(const std::string& path) {
  if (HoldsRun(path)) return {path};
  std::vector<std::string> runs;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().filename().string().starts_with("RUN_") &&
        HoldsRun(entry.path())) {
      runs.push_back(entry.path().string());
    }
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

void MakeNamesUnique(std::vector<RunData>& runs) {
  std::map<std::string, int> seen;
  for (RunData& run : runs) {
    const int count = ++seen[run.name];
    if (count > 1) absl::StrAppend(&run.name, " (", count, ")");
  }
}

std::vector<Json> ThinOut(const std::vector<Json>& steps, size_t most) {
  if (steps.size() <= most) return steps;
  std::vector<Json> thin;
  const size_t stretch = (2 * steps.size() + most - 1) / most;
  const auto lower = [](const Json& a, const Json& b) {
    return LossOf(a) < LossOf(b);
  };
  for (size_t begin = 0; begin < steps.size(); begin += stretch) {
    const auto first = steps.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = first + static_cast<std::ptrdiff_t>(
                                  std::min(stretch, steps.size() - begin));
    auto [low, high] = std::minmax_element(first, last, lower);
    if (high < low) std::swap(low, high);
    thin.push_back(*low);
    if (high != low) thin.push_back(*high);
  }
  if (thin.back() != steps.back()) thin.push_back(steps.back());
  return thin;
}

}  // namespace slipway::html
