#include "trainer/plan/tokens.h"

#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The texts of all tokens: words as they are, 'quoted' ones, ?unknown ones.
std::vector<std::string> TextsOf(std::string_view text) {
  std::vector<std::string> texts;
  for (Tokens tokens(text); tokens.current().kind != Token::Kind::kEnd;
       tokens.Next()) {
    const Token& token = tokens.current();
    std::string shown(token.text);
    if (token.kind == Token::Kind::kQuoted) shown = "'" + shown + "'";
    if (token.kind == Token::Kind::kUnknown) shown = "?" + shown;
    texts.push_back(shown);
  }
  return texts;
}

TEST(Tokens, AreWordsAndSymbols) {
  EXPECT_THAT(
      TextsOf("a.b-c==2.15.0 in[x,-1e-3]"),
      ElementsAre("a.b-c", "==", "2.15.0", "in", "[", "x", ",", "-1e-3", "]"));
  EXPECT_THAT(TextsOf("(a<=b>c>=d<e!=f)"),
              ElementsAre("(", "a", "<=", "b", ">", "c", ">=", "d", "<", "e",
                          "!=", "f", ")"));
  EXPECT_THAT(TextsOf(" \t\n"), IsEmpty());
}

TEST(Tokens, KeepWhatIsQuotedTogether) {
  EXPECT_THAT(TextsOf("\"two words\" 'it \"is\"' ''"),
              ElementsAre("'two words'", "'it \"is\"'", "''"));
}

TEST(Tokens, PassOverNothing) {
  EXPECT_THAT(TextsOf("a = !b 'c \xff"),
              ElementsAre("a", "?=", "?!", "b", "?'", "c", "?\xff"));
}

TEST(Tokens, KnowTheirColumnsAndTheEnd) {
  Tokens tokens("ab  'c'");
  EXPECT_EQ(tokens.current().column, 1u);
  EXPECT_FALSE(tokens.Take("b"));
  EXPECT_TRUE(tokens.Take("ab"));
  EXPECT_EQ(tokens.current().column, 5u);
  EXPECT_FALSE(tokens.Take("c")) << "quoted";
  tokens.Next();
  tokens.Next();
  EXPECT_EQ(tokens.current().kind, Token::Kind::kEnd);
  EXPECT_EQ(tokens.current().column, 8u);
}

}  // namespace
}  // namespace slipway::plan
