// The small closed language of a manifest's `when`.
//
//   absl::StatusOr<Predicate> when = Predicate::Parse(
//       "compile.mode in [reduce-overhead, max-autotune] and device == cuda");
//   if (when->Holds(lookup)) ...
//
// The grammar, from the loosest to the tightest:
//
//   a or b          a and b          not a          (a)
//   name == value   !=   <   <=   >   >=
//   name in [value, value]           name not in [value]
//   name            is it true, other than zero, not empty?
//
// A name is words joined by dots (`world_size`, `compile.scope`,
// `training_hyperparams.batch_accumulate`). What stands right of an operator is
// always a value, read as an unquoted word of YAML is read: 2, 1e-3, true,
// null, step; quotes keep a word text. What a name means is the caller's: it
// hands in a function. No value at all is null.
//
// Numbers compare by value; < and its kin compare numbers, and a text that is a
// version with what is a comparator of version.h (`libtorch_version >= 2.10`);
// of other things they are false.
// Immutable; safe from any thread.
#ifndef SLIPWAY_TRAINER_PLAN_PREDICATE_H_
#define SLIPWAY_TRAINER_PLAN_PREDICATE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "trainer/plan/version.h"
#include "trainer/recipe/node.h"

namespace slipway::plan {

class Predicate {
 public:
  // The value of a name; null where it has none.
  using Lookup = absl::FunctionRef<recipe::Node(std::string_view name)>;

  // INVALID_ARGUMENT says what was expected and found, and at which column of
  // `text` (from 1).
  static absl::StatusOr<Predicate> Parse(std::string_view text);

  bool Holds(Lookup lookup) const;
  // As it was written.
  const std::string& text() const { return text_; }
  // The names it asks for, in the order in which they stand.
  std::vector<std::string> Names() const;

 private:
  friend class PredicateParser;

  // The expression in postfix: comparisons push what they found, the others
  // take their operands from there.
  struct Step {
    enum class Kind {
      kTrue,
      kEqual,
      kUnequal,
      kLess,
      kLessOrEqual,
      kGreater,
      kGreaterOrEqual,
      kIn,
      kNotIn,
      kAnd,
      kOr,
      kNot,
    };
    Kind kind;
    std::string name = {};
    std::vector<recipe::Node> values = {};
    // Of < and its kin, if their value may be a version.
    std::optional<VersionRange> range = {};

    bool Compare(const recipe::Node& value) const;
    bool Orders(const recipe::Node& value) const;
  };

  Predicate() = default;

  std::string text_;
  std::vector<Step> steps_;
};

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_PREDICATE_H_
