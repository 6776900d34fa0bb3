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

std::string_view TakeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
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
  int line = 0;
  std::string_view want, got;
  do {
    ++line;
    if (expected.empty() || actual.empty()) break;
    want = TakeLine(expected);
    got = TakeLine(actual);
  } while (want == got);
  if (want == got) {
    want = expected.empty() ? "(the end)" : TakeLine(expected);
    got = actual.empty() ? "(the end)" : TakeLine(actual);
  }
  return "line " + std::to_string(line) + "\n  expected: " + std::string(want) +
         "\n  found:    " + std::string(got);
}

void ExpectGolden(const std::string& path, std::string_view actual) {
  if (Update(path, actual)) return;
  const std::string difference = FirstDifference(ReadFile(path), actual);
  EXPECT_EQ(difference, "")
      << path << " differs; the whole text is\n"
      << actual << "If it is right, SLIPWAY_UPDATE_GOLDEN=1 bazel run TEST "
      << "writes it.";
}

}  // namespace slipway
