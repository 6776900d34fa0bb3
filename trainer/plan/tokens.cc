#include "trainer/plan/tokens.h"

#include <cctype>
#include <cstddef>
#include <string_view>

namespace slipway::plan {
namespace {

bool IsWordCharacter(unsigned char c) {
  return std::isalnum(c) || c == '_' || c == '.' || c == '-' || c == '+';
}

}  // namespace

bool Token::Is(std::string_view symbol_or_word) const {
  return (kind == Kind::kSymbol || kind == Kind::kWord) &&
         text == symbol_or_word;
}

Tokens::Tokens(std::string_view text) : text_(text) { Next(); }

bool Tokens::Take(std::string_view symbol_or_word) {
  if (!current_.Is(symbol_or_word)) return false;
  Next();
  return true;
}

Token Tokens::Read(Token::Kind kind, size_t length) {
  const Token token = {kind, text_.substr(position_, length), position_ + 1};
  position_ += length;
  return token;
}

size_t Tokens::WordLength() const {
  size_t end = position_;
  while (end < text_.size() && IsWordCharacter(text_[end])) ++end;
  return end - position_;
}

size_t Tokens::SymbolLength() const {
  for (const std::string_view symbol :
       {"==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", ","}) {
    if (text_.substr(position_).starts_with(symbol)) return symbol.size();
  }
  return 0;
}

size_t Tokens::QuotedLength() const {
  const char quote = text_[position_];
  if (quote != '"' && quote != '\'') return 0;
  const size_t closing = text_.find(quote, position_ + 1);
  return closing == std::string_view::npos ? 0 : closing + 1 - position_;
}

void Tokens::Next() {
  while (position_ < text_.size() &&
         std::isspace(static_cast<unsigned char>(text_[position_]))) {
    ++position_;
  }
  if (position_ == text_.size()) {
    current_ = Read(Token::Kind::kEnd, 0);
  } else if (const size_t quoted = QuotedLength()) {
    current_ = Read(Token::Kind::kQuoted, quoted);
    current_.text = current_.text.substr(1, quoted - 2);
  } else if (const size_t word = WordLength()) {
    current_ = Read(Token::Kind::kWord, word);
  } else if (const size_t symbol = SymbolLength()) {
    current_ = Read(Token::Kind::kSymbol, symbol);
  } else {
    current_ = Read(Token::Kind::kUnknown, 1);
  }
}

}  // namespace slipway::plan
