// The words and signs of a predicate, one after the other.
//
//   Tokens tokens("world_size > 1");
//   tokens.current().text;   // "world_size", at column 1
//   tokens.Next();
//   if (tokens.Take(">")) ...
//
// Any text can be read: what is no token becomes one of kind kUnknown, and
// after the last comes kEnd, again and again. The text must outlive the tokens.
// Not thread-safe.
#ifndef SLIPWAY_TRAINER_PLAN_TOKENS_H_
#define SLIPWAY_TRAINER_PLAN_TOKENS_H_

#include <cstddef>
#include <string_view>

namespace slipway::plan {

struct Token {
  // A word has letters, digits and any of _ . - + in it; a quoted text stands
  // between two ' or two ". Symbols are == != <= >= < > ( ) [ ] and the comma.
  enum class Kind { kEnd, kWord, kQuoted, kSymbol, kUnknown };
  Kind kind = Kind::kEnd;
  std::string_view text;  // of a quoted text: without the quotes
  size_t column = 0;      // of its first character, from 1

  // Never true for a quoted text.
  bool Is(std::string_view symbol_or_word) const;
};

class Tokens {
 public:
  explicit Tokens(std::string_view text);

  const Token& current() const { return current_; }
  void Next();
  // Goes on, and returns true, if the current token is this one.
  bool Take(std::string_view symbol_or_word);

 private:
  Token Read(Token::Kind kind, size_t length);
  size_t WordLength() const;
  size_t SymbolLength() const;
  // Of a quoted text, both quotes counted; 0 if there is none, or no end of it.
  size_t QuotedLength() const;

  std::string_view text_;
  size_t position_ = 0;
  Token current_;
};

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_TOKENS_H_
