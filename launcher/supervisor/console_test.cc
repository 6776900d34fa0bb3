#include "launcher/supervisor/console.h"

#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();
const absl::Time kLater = kStart + ConsoleLines::kPatience;

// What the console shows after these lines, all of them at the start, and then
// again when their patience is over: "now|later".
std::string Shown(const ConsoleOptions& options,
                  const std::vector<std::pair<int, std::string>>& lines) {
  std::ostringstream out;
  ConsoleLines console(options, &out);
  for (const auto& [rank, line] : lines) console.Add(rank, line, kStart);
  console.Flush(kStart);
  out << "|";
  console.Flush(kLater);
  return out.str();
}

TEST(ConsoleLines, FoldsWhatAllRanksSay) {
  EXPECT_EQ(Shown({.ranks = {0, 1, 2}}, {{1, "a"}, {0, "a"}, {2, "a"}}),
            "[0-2] a\n|");
}

TEST(ConsoleLines, FoldsWhatSomeRanksSay) {
  EXPECT_EQ(Shown({.ranks = {0, 1, 2}}, {{0, "a"}, {1, "b"}, {2, "a"}}),
            "[0,2] a\n|[1] b\n");
}

TEST(ConsoleLines, WaitsForRanksThatHaveSaidNothing) {
  EXPECT_EQ(Shown({.ranks = {0, 1}}, {{0, "a"}, {0, "b"}}), "|[0] a\n[0] b\n");
}

TEST(ConsoleLines, WaitsForNobodyAlone) {
  EXPECT_EQ(Shown({.ranks = {0}}, {{0, "a"}, {0, "a"}}), "[0] a\n[0] a\n|");
}

TEST(ConsoleLines, KeepsTheOrderOfEachRank) {
  EXPECT_EQ(Shown({.ranks = {0, 1}}, {{0, "a"}, {0, "b"}, {1, "b"}, {1, "a"}}),
            "[0] a\n[0-1] b\n|[1] a\n");
}

TEST(ConsoleLines, ShowsOnlyTheRanksAskedFor) {
  EXPECT_EQ(Shown({.ranks = {1}}, {{0, "a"}, {1, "b"}}), "[1] b\n|");
  EXPECT_EQ(Shown({.ranks = {}}, {{0, "a"}}), "|");
}

TEST(ConsoleLines, HasTheUsersPrefix) {
  EXPECT_EQ(
      Shown({.ranks = {0, 1}, .prefix = "<{rank}>"}, {{0, "a"}, {1, "a"}}),
      "<0-1>a\n|");
  EXPECT_EQ(Shown({.ranks = {0}, .prefix = ""}, {{0, "a"}}), "a\n|");
}

TEST(ConsoleLines, WaitsForNobodyWhoHasEnded) {
  std::ostringstream out;
  ConsoleLines console({.ranks = {0, 1}}, &out);
  console.Add(0, "a", kStart);
  EXPECT_EQ(console.Deadline(), kLater);
  console.End(1);
  console.Flush(kStart);
  EXPECT_EQ(out.str(), "[0] a\n");
  EXPECT_EQ(console.Deadline(), absl::InfiniteFuture());
}

TEST(ConsoleLines, HoldsNoFlood) {
  std::ostringstream out;
  ConsoleLines console({.ranks = {0, 1}}, &out);
  for (int i = 0; i < 5000; ++i) console.Add(0, absl::StrCat(i), kStart);
  console.Flush(kStart);
  EXPECT_GT(out.str().size(), 10000u);
}

}  // namespace
}  // namespace slipway::launcher
