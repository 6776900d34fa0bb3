#include "launcher/supervisor/output.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

using ::testing::ElementsAre;

TEST(RankOutput, PassesOnWholeLinesOnly) {
  std::ostringstream console;
  RankOutput out({.prefix = "[1] "});
  out.Take("one\ntw", console);
  EXPECT_EQ(console.str(), "[1] one\n");
  out.Take("o\n\nthree", console);
  EXPECT_EQ(console.str(), "[1] one\n[1] two\n[1] \n");
  out.Finish(console);
  EXPECT_EQ(console.str(), "[1] one\n[1] two\n[1] \n[1] three\n");
}

TEST(RankOutput, RemembersTheLastLines) {
  std::ostringstream console;
  RankOutput out({.on_console = false, .keep = 2});
  out.Take("a\nb\nc\n", console);
  EXPECT_THAT(out.tail(), ElementsAre("b", "c"));
  EXPECT_EQ(console.str(), "");
}

TEST(RankOutput, KeepsTheRawBytesInAFile) {
  const std::string path = testing::TempDir() + "/rank0.out";
  std::remove(path.c_str());
  std::ostringstream console;
  {
    RankOutput out({.prefix = "[0] ", .file = path});
    out.Take("a\nb", console);
  }
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  EXPECT_EQ(content.str(), "a\nb");
}

TEST(RankOutput, BoundsTheMemoryOfALineWithoutEnd) {
  std::ostringstream console;
  RankOutput out({});
  for (int i = 0; i < 100; ++i) out.Take(std::string(4096, 'x'), console);
  EXPECT_GT(console.str().size(), 300'000u);
}

TEST(ExpandPrefix, FillsInTheRank) {
  EXPECT_EQ(ExpandPrefix("[{rank}] ", 3), "[3] ");
  EXPECT_EQ(ExpandPrefix("", 3), "");
}

}  // namespace
}  // namespace slipway::launcher
