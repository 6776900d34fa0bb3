// Whatever files and overrides a user gives, loading a recipe ends with one or
// with errors. An input is a few parts with a line "=====" between them: the
// overrides, one a line; the recipe; and the one choice of the group `group`.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "trainer/recipe/recipe.h"

namespace slipway::recipe {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Split(const std::string& text,
                               const std::string& separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (size_t end = text.find(separator); end != text.npos;
       end = text.find(separator, start)) {
    parts.push_back(text.substr(start, end - start));
    start = end + separator.size();
  }
  parts.push_back(text.substr(start));
  return parts;
}

// A folder of this process's own, for the recipe of the moment.
const fs::path& Folder() {
  static const auto* const kFolder = [] {
    auto* folder = new fs::path(fs::temp_directory_path() /
                                ("recipe_fuzz_" + std::to_string(getpid())));
    fs::create_directories(*folder / "group");
    return folder;
  }();
  return *kFolder;
}

void Write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

void TryRecipe(const std::string& input) {
  const std::vector<std::string> parts = Split(input, "\n=====\n");
  Request request;
  request.recipe = "main";
  request.recipe_path = {Folder().string()};
  for (const std::string& line : Split(parts[0], "\n")) {
    if (!line.empty()) request.overrides.push_back(line);
  }
  Write(Folder() / "main.yaml", parts.size() > 1 ? parts[1] : "");
  Write(Folder() / "group" / "choice.yaml", parts.size() > 2 ? parts[2] : "");

  Problems problems;
  const std::optional<Composed> composed = LoadRecipe(request, {}, problems);
  FormatProblems(problems);
  if (composed.has_value() == HasErrors(problems)) {
    std::cerr << "a recipe and errors, or neither\n";
    std::abort();
  }
  if (composed) {
    composed->recipe.ToYaml();
    composed->recipe.ToJson();
  }
}

}  // namespace
}  // namespace slipway::recipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  slipway::recipe::TryRecipe(
      std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
