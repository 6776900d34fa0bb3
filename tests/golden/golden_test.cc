#include "tests/golden/golden.h"

#include <string>

#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

constexpr char kExample[] = "tests/golden/example.golden";

TEST(ExpectGolden, TakesTheFilesText) { ExpectGolden(kExample, "one\ntwo\n"); }

TEST(ExpectGolden, FailsOnAnyOtherText) {
  EXPECT_NONFATAL_FAILURE(ExpectGolden(kExample, "one\nthree\n"),
                          "line 2\n  expected: two\n  found:    three");
  EXPECT_NONFATAL_FAILURE(ExpectGolden(kExample, "one\ntwo"), "differs");
}

TEST(ExpectGolden, FailsWithoutItsFile) {
  EXPECT_NONFATAL_FAILURE(ExpectGolden("tests/golden/absent.golden", ""),
                          "no golden file tests/golden/absent.golden");
}

TEST(FirstDifference, NamesTheLine) {
  EXPECT_EQ(FirstDifference("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(FirstDifference("a\nb\n", "a\n"),
            "line 2\n  expected: b\n  found:    (the end)");
  EXPECT_EQ(FirstDifference("a\nb\n", "a\nb"),
            "line 2\n  expected: b\n  found:    b(the end)");
  EXPECT_EQ(FirstDifference("", "x\n"),
            "line 1\n  expected: (the end)\n  found:    x");
}

}  // namespace
}  // namespace slipway
