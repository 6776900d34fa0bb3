// Every plugin's manifest in the tree is one that the trainer accepts. The work
// tree itself is read, so that a new plugin cannot be forgotten.

#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plan/manifest.h"
#include "trainer/recipe/problem.h"

namespace slipway::plan {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

// Bazel runs tests among links into the work tree.
std::string PluginsFolder() {
  const auto build_file = std::filesystem::canonical("tests/lint/BUILD");
  const auto root = build_file.parent_path().parent_path().parent_path();
  return (root / "plugins").string();
}

TEST(Manifests, OfAllPluginsAreAccepted) {
  Problems problems;
  const std::vector<Manifest> manifests =
      DiscoverManifests({PluginsFolder()}, problems);
  EXPECT_THAT(manifests, Not(IsEmpty()));
  EXPECT_THAT(problems, IsEmpty()) << FormatProblems(problems);
}

TEST(Manifests, LieInFoldersOfTheirIds) {
  Problems problems;
  for (const Manifest& manifest :
       DiscoverManifests({PluginsFolder()}, problems)) {
    const auto folder = std::filesystem::path(manifest.path).parent_path();
    EXPECT_EQ(folder.filename(), manifest.id);
    EXPECT_TRUE(std::filesystem::exists(folder / "README.md"))
        << folder << " has no README.md";
  }
}

}  // namespace
}  // namespace slipway::plan
