#include "launcher/supervisor/output.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

using ::testing::ElementsAre;

constexpr absl::Time kNow = absl::UnixEpoch();

class RankOutputTest : public testing::Test {
 protected:
  // What the console shows by now.
  std::string Shown() {
    console_.Flush(kNow);
    return text_.str();
  }

  std::ostringstream text_;
  ConsoleLines console_ = ConsoleLines({.ranks = {1}}, &text_);
};

TEST_F(RankOutputTest, PassesOnWholeLinesOnly) {
  RankOutput out({.rank = 1}, &console_);
  out.Take("one\ntw", kNow);
  EXPECT_EQ(Shown(), "[1] one\n");
  out.Take("o\n\nthree", kNow);
  EXPECT_EQ(Shown(), "[1] one\n[1] two\n[1] \n");
  out.Finish(kNow);
  EXPECT_EQ(Shown(), "[1] one\n[1] two\n[1] \n[1] three\n");
}

TEST_F(RankOutputTest, RemembersTheLastLines) {
  RankOutput out({.rank = 0, .keep = 2}, &console_);
  out.Take("a\nb\nc\n", kNow);
  EXPECT_THAT(out.tail(), ElementsAre("b", "c"));
  EXPECT_EQ(Shown(), "");
}

TEST_F(RankOutputTest, KeepsTheRawBytesInAFile) {
  const std::string path = testing::TempDir() + "/rank0.out";
  std::remove(path.c_str());
  {
    RankOutput out({.file = path}, &console_);
    out.Take("a\nb", kNow);
  }
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  EXPECT_EQ(content.str(), "a\nb");
}

TEST_F(RankOutputTest, BoundsTheMemoryOfALineWithoutEnd) {
  RankOutput out({.rank = 1}, &console_);
  for (int i = 0; i < 100; ++i) out.Take(std::string(4096, 'x'), kNow);
  EXPECT_GT(Shown().size(), 300'000u);
}

}  // namespace
}  // namespace slipway::launcher
