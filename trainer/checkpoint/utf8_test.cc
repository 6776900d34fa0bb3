#include "trainer/checkpoint/utf8.h"

#include "gtest/gtest.h"

namespace slipway {
namespace {

TEST(Utf8, KnowsWhatIsOne) {
  for (const char* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac",
                           "\xf0\x9f\x9a\xa2", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  // A lone continuation, cut letters, overlong forms, a surrogate, above
  // U+10FFFF, and bytes that lead nothing.
  for (const char* text : {"\x80", "\xc3", "a\xe2\x82", "\xc0\xaf",
                           "\xe0\x80\xaf", "\xf0\x80\x80\xaf", "\xed\xa0\x80",
                           "\xf4\x90\x80\x80", "\xf8\x88", "\xff"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(Utf8, GivesTheBytesThatLatin1Means) {
  EXPECT_EQ(Latin1FromUtf8("a\xc2\x80\xc3\xbf"), "a\x80\xff");
  EXPECT_EQ(Latin1FromUtf8("\xe2\x82\xac"), std::nullopt);
  EXPECT_EQ(Latin1FromUtf8("\xc3"), std::nullopt);
}

}  // namespace
}  // namespace slipway
