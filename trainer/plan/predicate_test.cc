#include "trainer/plan/predicate.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/recipe/node.h"

namespace slipway::plan {
namespace {

using recipe::Node;
using ::testing::ElementsAre;

// What the names of these tests mean.
Node ValueOf(std::string_view name) {
  if (name == "world_size") return Node::Int(2);
  if (name == "ratio") return Node::Float(0.5);
  if (name == "device") return Node::String("cpu");
  if (name == "compile.mode") return Node::String("reduce-overhead");
  if (name == "libtorch_version") return Node::String("2.10.1");
  if (name == "auto_lr") return Node::Bool(true);
  if (name == "off") return Node::Bool(false);
  if (name == "zero") return Node::Int(0);
  if (name == "blank") return Node::String("");
  if (name == "list") return Node::List({Node::Int(1)});
  if (name == "map") return Node::Map();
  return Node();
}

bool Holds(const std::string& text) {
  const absl::StatusOr<Predicate> predicate = Predicate::Parse(text);
  EXPECT_TRUE(predicate.ok()) << text << ": " << predicate.status();
  return predicate.ok() && predicate->Holds(ValueOf);
}

TEST(Predicate, HoldsWhereItIsTrue) {
  for (const char* text : {
           "world_size > 1",
           "world_size >= 2",
           "world_size == 2",
           "world_size == 2.0",
           "world_size<3",
           "ratio <= 0.5",
           "ratio != 1",
           "device == cpu",
           "device == \"cpu\"",
           "device == 'cpu'",
           "compile.mode in [reduce-overhead, max-autotune]",
           "compile.mode not in [default]",
           "world_size in [1, 2]",
           "auto_lr",
           "auto_lr == true",
           "auto_lr == on",
           "list",
           "not map",
           "not zero",
           "not blank",
           "not off",
           "not not auto_lr",
           "absent == null",
           "not absent",
           "absent != step",
           "absent not in [step]",
           "list == null or list != null",
           "(world_size > 1)",
       }) {
    EXPECT_TRUE(Holds(text)) << text;
  }
}

TEST(Predicate, DoesNotHoldWhereItIsFalse) {
  for (const char* text : {
           "world_size > 2",
           "world_size < 2",
           "world_size == \"2\"",
           "device == CPU",
           "device > cpu",
           "device < 3",
           "world_size < cpu",
           "compile.mode in [default]",
           "absent",
           "absent == step",
           "absent < 1",
           "absent >= 1",
           "auto_lr < 2",
           "off",
       }) {
    EXPECT_FALSE(Holds(text)) << text;
  }
}

TEST(Predicate, ComparesVersionsAsWritten) {
  EXPECT_TRUE(Holds("libtorch_version >= 2.10"));
  EXPECT_TRUE(Holds("libtorch_version >= 2.9.5"));
  EXPECT_TRUE(Holds("libtorch_version < 2.11"));
  EXPECT_FALSE(Holds("libtorch_version >= 2.11.0"));
  EXPECT_FALSE(Holds("device >= 2.11.0"));
}

TEST(Predicate, BindsNotBeforeAndBeforeOr) {
  EXPECT_TRUE(Holds("auto_lr or off and off"));
  EXPECT_FALSE(Holds("(auto_lr or off) and off"));
  EXPECT_TRUE(Holds("off and off or auto_lr"));
  EXPECT_FALSE(Holds("not auto_lr and off"));
  EXPECT_TRUE(Holds("not (auto_lr and off)"));
  EXPECT_FALSE(Holds("not auto_lr or off"));
}

TEST(Predicate, KeepsItsTextAndNames) {
  const absl::StatusOr<Predicate> predicate =
      Predicate::Parse("a.b == c and not (d or e in [f, g])");
  ASSERT_TRUE(predicate.ok());
  EXPECT_EQ(predicate->text(), "a.b == c and not (d or e in [f, g])");
  EXPECT_THAT(predicate->Names(), ElementsAre("a.b", "d", "e"));
}

struct Mistake {
  std::string text;
  std::string message;
};

TEST(Predicate, SaysWhatIsWrongAndWhere) {
  const std::vector<Mistake> mistakes = {
      {"", "expected a name at column 1, found the end"},
      {"world_size > > 1", "expected a value at column 14, found \">\""},
      {"world_size >", "expected a value at column 13, found the end"},
      {"world_size = 1",
       "expected \"and\", \"or\" or the end at column 12, found \"=\""},
      {"world_size 1",
       "expected \"and\", \"or\" or the end at column 12, found \"1\""},
      {"(device == cpu", "expected \")\" at column 15, found the end"},
      {"device == cpu)",
       "expected \"and\", \"or\" or the end at column 14, found \")\""},
      {"and device", "expected a name at column 1, found \"and\""},
      {"\"device\" == cpu", "expected a name at column 1, found \"device\""},
      {"device in cpu", "expected \"[\" at column 11, found \"cpu\""},
      {"device in []", "expected a value at column 12, found \"]\""},
      {"device in [cpu cuda]",
       "expected \",\" or \"]\" at column 16, found \"cuda\""},
      {"device not cpu", "expected \"in\" at column 12, found \"cpu\""},
      {"device == 'cpu", "expected a value at column 11, found \"'\""},
      {"device == cpu or", "expected a name at column 17, found the end"},
      {"device == or", "expected a value at column 11, found \"or\""},
      {"not", "expected a name at column 4, found the end"},
  };
  for (const Mistake& mistake : mistakes) {
    const absl::Status status = Predicate::Parse(mistake.text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), mistake.message) << mistake.text;
  }
}

TEST(Predicate, RefusesDeepNestingInsteadOfOverflowing) {
  EXPECT_TRUE(Holds(std::string(50, '(') + "auto_lr" + std::string(50, ')')));
  const absl::Status status =
      Predicate::Parse(std::string(100000, '(')).status();
  EXPECT_EQ(status.message(),
            "expected fewer parentheses at column 51, found \"(\"");
}

}  // namespace
}  // namespace slipway::plan
