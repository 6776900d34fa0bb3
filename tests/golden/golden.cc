#include "tests/golden/golden.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace slipway {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << "no golden file " << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The line of `text` that starts at `start`, its end of line visible.
std::string LineAt(std::string_view text, size_t start) {
  if (start >= text.size()) return "(the end)";
  const size_t end = text.find('\n', start);
  const std::string line(text.substr(start, end - start));
  return end == std::string_view::npos ? line + "(the end)" : line;
}

// `bazel run` says where the repository lies; `bazel test` does not.
bool Update(const std::string& path, std::string_view text) {
  const char* const root = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (root == nullptr || std::getenv("SLIPWAY_UPDATE_GOLDEN") == nullptr) {
    return false;
  }
  std::ofstream file(std::string(root) + "/" + path, std::ios::binary);
  file << text;
  EXPECT_TRUE(file.flush().good()) << "cannot write " << path;
  return true;
}

}  // namespace

std::string FirstDifference(std::string_view expected,
                            std::string_view actual) {
  if (expected == actual) return "";
  const auto differs = std::mismatch(expected.begin(), expected.end(),
                                     actual.begin(), actual.end());
  const std::string_view same(expected.begin(), differs.first);
  const size_t start = same.rfind('\n') + 1;  // 0 if there is no line before
  const auto line = 1 + std::count(same.begin(), same.end(), '\n');
  return "line " + std::to_string(line) +
         "\n  expected: " + LineAt(expected, start) +
         "\n  found:    " + LineAt(actual, start);
}

void ExpectGolden(const std::string& path, std::string_view actual) {
  if (Update(path, actual)) return;
  const std::string difference = FirstDifference(ReadFile(path), actual);
  EXPECT_TRUE(difference.empty())
      << path << " differs at " << difference << "\nThe whole text is\n"
      << actual << "If it is right, SLIPWAY_UPDATE_GOLDEN=1 ./bazelw run TEST "
      << "writes it.";
}

}  // namespace slipway
