// The text of a YAML file, made ready for yaml-cpp, and what yaml-cpp's marks
// mean in it. Internal to yaml.h.
#ifndef SLIPWAY_TRAINER_RECIPE_YAML_TEXT_H_
#define SLIPWAY_TRAINER_RECIPE_YAML_TEXT_H_

#include <string>
#include <string_view>

#include "trainer/recipe/problem.h"
#include "yaml-cpp/mark.h"

namespace slipway::recipe {

// Immutable. Has no byte-order mark and only "\n" at the ends of lines, so
// that yaml-cpp's positions are offsets into text().
class YamlText {
 public:
  YamlText(std::string_view text, std::string file);

  const std::string& text() const { return text_; }
  const std::string& file() const { return file_; }

  // False, with the problem's detail and place filled in, if the text is not
  // UTF-8, or has a character or directive that YAML forbids. yaml-cpp must not
  // see such text: it takes one of these characters for the end, and skips
  // unknown directives.
  bool Check(Problem& problem) const;

  // 1-based line, and column in characters.
  Mark PlaceOf(const YAML::Mark& mark) const;

  // The line that `mark` is on, without blanks around it.
  std::string LineOf(const YAML::Mark& mark) const;

  // Whether a tab stands between what is at `mark` and what is before it on
  // the same line.
  bool HasTabBefore(const YAML::Mark& mark) const;

  // Whether only blanks stand before `mark` on its line.
  bool IsFirstOnLine(const YAML::Mark& mark) const;

  // Whether a colon and a space, or the end of the line, follow the key at
  // `mark`, or a question mark stands before it.
  bool HasColonAfter(const YAML::Mark& mark) const;

  // False if a quote opens at `mark` and nothing closes it.
  bool IsClosed(const YAML::Mark& mark) const;

  // Whether a null is written out at `mark`.
  bool HasNullAt(const YAML::Mark& mark) const;

 private:
  bool CheckCharacters(Problem& problem) const;
  bool CheckDirectives(Problem& problem) const;
  Mark PlaceOfOffset(size_t offset) const;
  size_t OffsetOf(const YAML::Mark& mark) const;

  std::string text_;
  std::string file_;
};

}  // namespace slipway::recipe

#endif  // SLIPWAY_TRAINER_RECIPE_YAML_TEXT_H_
