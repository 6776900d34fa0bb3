#include "trainer/recipe/yaml.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace slipway::recipe {
namespace {

using ::testing::HasSubstr;

// The text as JSON, or its problems.
std::string Read(const std::string& text) {
  Problems problems;
  const std::optional<Node> node = ParseYaml(text, "x.yaml", problems);
  EXPECT_EQ(node.has_value(), problems.empty()) << text;
  return node ? node->ToJson().dump() : FormatProblems(problems);
}

Node Parsed(const std::string& text) {
  Problems problems;
  const std::optional<Node> node = ParseYaml(text, "x.yaml", problems);
  EXPECT_EQ(FormatProblems(problems), "") << text;
  return node.value_or(Node());
}

struct Case {
  const char* text;
  const char* json;
};

TEST(Yaml, ReadsAsOmegaConfDoes) {
  const Case cases[] = {
      {"", "null"},
      {"# only a comment\n", "null"},
      {"a: 1\nb:\n  - x\n  - y: 2.5\n    z: Off\n",
       R"({"a":1,"b":["x",{"y":2.5,"z":false}]})"},
      {"- 1\n- [a, {b: c}]\n-\n- ~", R"([1,["a",{"b":"c"}],null,null])"},
      {"a: '1'\nb: \"x\\ty\\u00e9\"\nc: 'it''s'\n",
       "{\"a\":\"1\",\"b\":\"x\\ty\xC3\xA9\",\"c\":\"it's\"}"},
      {"a: |\n  x\n  y\nb: >-\n  x\n  y\n", R"({"a":"x\ny\n","b":"x y"})"},
      {"a: 'x\n  y'\nb: x\n  y\n", R"({"a":"x y","b":"x y"})"},
      {"a: 1 # c\nb: x#y\n", R"({"a":1,"b":"x#y"})"},
      {"---\na: 1\n...\n", R"({"a":1})"},
      {"%YAML 1.1\n---\na: 1", R"({"a":1})"},
      {"\xEF\xBB\xBF"
       "a: 1",
       R"({"a":1})"},
      {"a: 1\r\nb: 2\rc: 3", R"({"a":1,"b":2,"c":3})"},
      {"? a\n: b", R"({"a":"b"})"},
      {"{a: 1, b, c: }", R"({"a":1,"b":null,"c":null})"},
      {"{a:1}", R"({"a:1":null})"},
      {"[a: 1, b: 2]", R"([{"a":1},{"b":2}])"},
      {"a: http://x:1", R"({"a":"http://x:1"})"},
      {"a:\nb:\n- 1\n", R"({"a":null,"b":[1]})"},
  };
  for (const Case& c : cases) EXPECT_EQ(Read(c.text), c.json) << c.text;
}

TEST(Yaml, MakesTextOfKeys) {
  EXPECT_EQ(Read("1: a\non: b\n1.50: c\n017: d\n'2': e"),
            R"({"1":"a","true":"b","1.5":"c","15":"d","2":"e"})");
}

TEST(Yaml, ObeysTags) {
  EXPECT_EQ(Read("[!!str 1, !!int '2', !!float 3, !!bool yes, !!null '']"),
            R"(["1",2,3.0,true,null])");
  EXPECT_EQ(Read("a: !!map {b: !!seq [1]}"), R"({"a":{"b":[1]}})");
}

TEST(Yaml, CopiesWhatAliasesReferTo) {
  EXPECT_EQ(Read("a: &x {b: 1}\nc: *x\nd: [*x]"),
            R"({"a":{"b":1},"c":{"b":1},"d":[{"b":1}]})");
  EXPECT_EQ(Read("a: &k b\n*k : 1"), R"({"a":"b","b":1})");
}

TEST(Yaml, MergesMapsBehindTheOwnKeys) {
  const Case cases[] = {
      {"<<: {a: 1, b: 2}\na: 3", R"({"b":2,"a":3})"},
      {"a: 3\n<<: {a: 1, b: 2}", R"({"b":2,"a":3})"},
      {"<<: [{a: 1}, {a: 2, b: 3}]", R"({"a":1,"b":3})"},
      {"<<: {a: 1}\n<<: {a: 2}", R"({"a":1})"},
      {"x: &x\n  b: 1\nc:\n  <<: *x\n  d: 2",
       R"({"x":{"b":1},"c":{"b":1,"d":2}})"},
      {"'<<': {a: 1}", R"({"<<":{"a":1}})"},
  };
  for (const Case& c : cases) EXPECT_EQ(Read(c.text), c.json) << c.text;
}

TEST(Yaml, KnowsWhereEachValueStands) {
  const Node root = Parsed(
      "a: 1\n"
      "b:\n"
      "  - caf\xC3\xA9: {x: y}\n"
      "empty:\n"
      "nullable: &z\n"
      "  - 2\n"
      "again: *z\n");
  const auto place = [&root](const char* path) {
    const Node* node = root.FindPath(path);
    return node == nullptr ? "absent" : ToString(node->mark());
  };
  EXPECT_EQ(place(""), "x.yaml:1:1");
  EXPECT_EQ(place("a"), "x.yaml:1:4");
  EXPECT_EQ(place("b"), "x.yaml:3:3");
  EXPECT_EQ(place("b.0.caf\xC3\xA9"), "x.yaml:3:11");
  EXPECT_EQ(place("b.0.caf\xC3\xA9.x"), "x.yaml:3:15");
  EXPECT_EQ(place("empty"), "x.yaml:4:1");
  EXPECT_EQ(place("again"), "x.yaml:7:8");
  EXPECT_EQ(place("again.0"), "x.yaml:6:5");
  EXPECT_EQ(ToString(root.entries()[1].key_mark), "x.yaml:2:1");
}

TEST(Yaml, ReportsWhatIsWrong) {
  const Case cases[] = {
      {"a: 1\nb: {c: 1, c: 2}\na: 2",
       "error: duplicate key \"c\"\n"
       "  where:  x.yaml:2:11, x.yaml:2:5\n"
       "  hint:   remove one of them\n"
       "error: duplicate key \"a\"\n"
       "  where:  x.yaml:3:1, x.yaml:1:1\n"
       "  hint:   remove one of them\n"},
      {"'a': 1\na: 2",
       "error: duplicate key \"a\"\n"
       "  where:  x.yaml:2:1, x.yaml:1:1\n"
       "  hint:   remove one of them\n"},
      {"a: 1\n---\nb: 2\n",
       "error: a second document begins\n"
       "  where:  x.yaml:2:1\n"
       "  hint:   put each document into a file of its own\n"},
      {"~: 1\n[a]: 2\n",
       "error: a key is null\n"
       "  where:  x.yaml:1:1\n"
       "  hint:   a key is a word, a number or a quoted text\n"
       "error: a key is a list\n"
       "  where:  x.yaml:2:1\n"
       "  hint:   a key is a word, a number or a quoted text\n"},
      {"a:\t1\nb: x\ty\n",
       "error: a tab stands before this\n"
       "  where:  x.yaml:1:4\n"
       "  hint:   indent and separate with spaces\n"
       "error: an unquoted text has a tab in it\n"
       "  where:  x.yaml:2:4\n"
       "  hint:   quote it, or use spaces\n"},
      {"a: &x {b: *x}",
       "error: an alias refers to the value that contains it\n"
       "  where:  x.yaml:1:11\n"
       "  hint:   write the value out where the alias stands\n"},
      {"a: *x",
       "error: cannot read \"x.yaml\"\n"
       "  detail: the referenced anchor is not defined, at \"a: *x\"\n"
       "  where:  x.yaml:1:4\n"},
      {"a: !foo 1\nb: !!int x\nc: !!set {d}\n",
       "error: \"1\" cannot be read with the tag \"!foo\"\n"
       "  where:  x.yaml:1:4\n"
       "  hint:   known tags are !!str, !!int, !!float, !!bool and !!null\n"
       "error: \"x\" cannot be read with the tag \"tag:yaml.org,2002:int\"\n"
       "  where:  x.yaml:2:4\n"
       "  hint:   known tags are !!str, !!int, !!float, !!bool and !!null\n"
       "error: unknown tag \"tag:yaml.org,2002:set\"\n"
       "  where:  x.yaml:3:4\n"
       "  hint:   lists and maps need no tag\n"},
  };
  for (const Case& c : cases) EXPECT_EQ(Read(c.text), c.json) << c.text;
}

TEST(Yaml, ReportsSlipsThatYamlCppTakesForValues) {
  const Case cases[] = {
      {"<<: 1\n<<: [{a: 1}, [2]]",
       "error: \"<<\" merges maps, not 1\n"
       "  where:  x.yaml:1:5\n"
       "error: \"<<\" merges maps, not [2]\n"
       "  where:  x.yaml:2:14\n"},
      {"a: 1\nb\n",
       "error: \"b\" has no colon after it\n"
       "  where:  x.yaml:2:1\n"
       "  hint:   write \"key: value\", with a space\n"},
      {"max_epochs:3\nb: 1",
       "error: cannot read \"x.yaml\"\n"
       "  detail: illegal map value, at \"b: 1\"\n"
       "  where:  x.yaml:2:2\n"
       "  hint:   look here, and in the line above, at the indentation and "
       "for a key without a colon and a space after it\n"},
      {"b: 1\nmax_epochs:3 # few\n",
       "error: cannot read \"x.yaml\"\n"
       "  detail: end of map not found, at \"max_epochs:3 # few\"\n"
       "  where:  x.yaml:2:1\n"
       "  hint:   look here, and in the line above, at the indentation and "
       "for a key without a colon and a space after it\n"},
      {"a: # nothing\nb\nc: 1\n",
       "error: cannot read \"x.yaml\"\n"
       "  detail: illegal map value, at \"c: 1\"\n"
       "  where:  x.yaml:3:2\n"
       "  hint:   look here, and in the line above, at the indentation and "
       "for a key without a colon and a space after it\n"},
      {"a: # nothing\nb:2 # c\n",
       "error: \"b:2\" has no colon after it\n"
       "  where:  x.yaml:2:1\n"
       "  hint:   indent it if it is the value of \"a\"\n"},
      {"a: [1,, 2]",
       "error: an item is missing before this\n"
       "  where:  x.yaml:1:7\n"},
      {"a: 'x\nb: 1\n",
       "error: a quote is never closed\n"
       "  where:  x.yaml:1:4\n"},
      {"a:\n%  - b\nc: 1",
       "error: cannot read \"x.yaml\"\n"
       "  detail: a line begins with %\n"
       "  where:  x.yaml:2:1\n"
       "  hint:   quote it if it is text\n"},
      {"a: [b",
       "error: cannot read \"x.yaml\"\n"
       "  detail: end of sequence flow not found, at \"a: [b\"\n"
       "  where:  x.yaml:1:1\n"},
      {"a: b: c",
       "error: cannot read \"x.yaml\"\n"
       "  detail: illegal map value, at \"a: b: c\"\n"
       "  where:  x.yaml:1:5\n"
       "  hint:   look here, and in the line above, at the indentation and "
       "for a key without a colon and a space after it\n"},
      {"a: 1\nb: \xFF",
       "error: cannot read \"x.yaml\"\n"
       "  detail: byte 0xFF is not UTF-8\n"
       "  where:  x.yaml:2:4\n"},
      {"a: \x04",
       "error: cannot read \"x.yaml\"\n"
       "  detail: character U+0004 is not allowed\n"
       "  where:  x.yaml:1:4\n"},
  };
  for (const Case& c : cases) EXPECT_EQ(Read(c.text), c.json) << c.text;
}

TEST(Yaml, RefusesOverlongAndSurrogateUtf8) {
  for (const char* text : {"\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80",
                           "\xF5\x80\x80\x80", "\xF0\x80\x80\x80", "\xC3"}) {
    EXPECT_THAT(Read(text), HasSubstr("is not UTF-8")) << text;
  }
  EXPECT_THAT(Read("\xC2\x80"), HasSubstr("U+0080 is not allowed"));
  EXPECT_THAT(Read("\xEF\xBF\xBF"), HasSubstr("U+FFFF is not allowed"));
  EXPECT_EQ(Read("\xF0\x9F\x9A\xA2"), "\"\xF0\x9F\x9A\xA2\"");
}

TEST(Yaml, BoundsLevels) {
  const auto nested = [](int levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(Read(nested(100)), nested(100));
  EXPECT_THAT(Read(nested(101)), HasSubstr("nested deeper than 100 levels"));
  EXPECT_THAT(Read(nested(100'000)), HasSubstr("nested deeper than 100"));
  // Aliases can build levels that no line of the text has.
  std::string text = "a0: &a0 [[[[[[[[[[]]]]]]]]]]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string name = "a" + std::to_string(i);
    text += name + ": &" + name + " [[[[[[[[[[*a" + std::to_string(i - 1) +
            "]]]]]]]]]]\n";
  }
  EXPECT_THAT(Read(text), HasSubstr("nested deeper than 100 levels"));
}

TEST(Yaml, BoundsValuesThatAliasesMultiply) {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += before + ",";
    text += "]\n";
  }
  EXPECT_THAT(Read(text), HasSubstr("more than 200000 values"));
}

TEST(Yaml, BoundsBytes) {
  EXPECT_THAT(Read(std::string((4 << 20) + 1, ' ')),
              HasSubstr("more than 4194304 bytes"));
}

TEST(Yaml, NamesTheKindOfItsCaller) {
  Problems problems;
  EXPECT_FALSE(ParseYaml("a: 1\na: 2\nb: [", "p.yaml", problems, "manifest"));
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].kind, "manifest");
  EXPECT_EQ(problems[1].kind, "manifest");
}

TEST(Yaml, ReadsBackWhatNodesWrite) {
  const Node root = Parsed(
      "a: [1, 1.0, '1', yes, 'yes', ~, [], {}, .inf, 1e-6, '', ' x ', 0o17]\n"
      "'b c': {d: [[1], {e: \"multi\\nline: # \\\"q\\\" \\\\ \xC3\xA9\"}]}\n"
      "'1': '${a.b}'\n'null': '\?\?\?'\n'<<': '-'\n'- x': '2001-01-01'\n");
  const std::string yaml = root.ToYaml();
  EXPECT_EQ(Parsed(yaml), root) << yaml;
  const Node odd = Parsed(R"("\x01\x7f\x80\x85\x9f\xa0\u2028\ufeff\uffff")");
  EXPECT_EQ(Parsed(odd.ToYaml()), odd) << odd.ToYaml();
}

// A text of characters that mean something in YAML, or nothing at all.
std::string RandomText(std::mt19937& random) {
  static const char* const kPieces[] = {"a",
                                        "Z",
                                        "0",
                                        "9",
                                        ".",
                                        "-",
                                        "+",
                                        "_",
                                        ":",
                                        ": ",
                                        " ",
                                        "#",
                                        " #",
                                        "\n",
                                        "\t",
                                        "'",
                                        "\"",
                                        "\\",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        ",",
                                        "&",
                                        "*",
                                        "!",
                                        "|",
                                        ">",
                                        "%",
                                        "@",
                                        "`",
                                        "?",
                                        "~",
                                        "null",
                                        "yes",
                                        "<<",
                                        "=",
                                        "$",
                                        "\x01",
                                        "\x7F",
                                        "\xC2\x85",
                                        "\xC3\xA9",
                                        "\xE2\x80\xA8",
                                        "e3"};
  std::string text;
  for (unsigned i = random() % 6; i > 0; --i) {
    text += kPieces[random() % std::size(kPieces)];
  }
  return text;
}

Node RandomNode(std::mt19937& random, int levels) {
  switch (random() % (levels > 0 ? 8 : 5)) {
    case 0:
      return Node();
    case 1:
      return Node::Bool(random() % 2 == 0);
    case 2:
      return Node::Int(static_cast<int64_t>(random()) - (1u << 31));
    case 3:
      return Node::Float(std::ldexp(random(), static_cast<int>(random() % 99)));
    case 4:
      return Node::String(RandomText(random));
    case 5: {
      Node list = Node::List();
      for (unsigned i = random() % 4; i > 0; --i) {
        list.mutable_items().push_back(RandomNode(random, levels - 1));
      }
      return list;
    }
    default: {
      Node map = Node::Map();
      for (unsigned i = random() % 4; i > 0; --i) {
        map.Set(RandomText(random), RandomNode(random, levels - 1));
      }
      return map;
    }
  }
}

TEST(Yaml, ReadsBackAnyTreeThatNodesWrite) {
  std::mt19937 random(20240917);
  for (int i = 0; i < 3000; ++i) {
    const Node node = RandomNode(random, 4);
    const std::string yaml = node.ToYaml();
    Problems problems;
    const auto again = ParseYaml(yaml, "again.yaml", problems);
    ASSERT_TRUE(again) << yaml << FormatProblems(problems);
    ASSERT_EQ(*again, node) << yaml;
  }
}

TEST(YamlFile, IsReadOrRefusedWithAReason) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "yaml_file";
  fs::create_directories(folder);
  const std::string file = (folder / "good.yaml").string();
  std::ofstream(file) << "a: 1\n";
  Problems problems;
  ASSERT_TRUE(ReadYamlFile(file, problems));
  EXPECT_EQ(ReadYamlFile(file, problems)->Find("a")->mark(),
            (Mark{file, 1, 4}));
  EXPECT_TRUE(problems.empty());

  const std::string absent = (folder / "absent.yaml").string();
  EXPECT_FALSE(ReadYamlFile(absent, problems));
  EXPECT_FALSE(ReadYamlFile(folder.string(), problems));
  EXPECT_FALSE(ReadYamlFile("/dev/zero", problems));
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(FormatProblem(problems[0]), "error: cannot read \"" + absent +
                                            "\"\n  detail: there is no such "
                                            "file\n  where:  " +
                                            absent + "\n");
  EXPECT_EQ(problems[1].detail, "it is a folder");
  EXPECT_EQ(problems[2].detail, "it has more than 4194304 bytes");
}

TEST(YamlValue, IsOneWordUnlessItIsFlowOrQuoted) {
  const Mark mark{"command line", 0, 2};
  const Case cases[] = {{"", "null"},
                        {"0.1", "0.1"},
                        {"off", "false"},
                        {"a b", "\"a b\""},
                        {"#1", "\"#1\""},
                        {"x: y", "\"x: y\""},
                        {"*x", "\"*x\""},
                        {"'1'", "\"1\""},
                        {"\"a\\n\"", "\"a\\n\""},
                        {"[1, a]", "[1,\"a\"]"},
                        {"{a: [x]}", R"({"a":["x"]})"}};
  for (const Case& c : cases) {
    Problems problems;
    const auto node = ParseYamlValue(c.text, mark, problems);
    ASSERT_TRUE(node) << c.text;
    EXPECT_EQ(node->ToJson().dump(), c.json);
    EXPECT_EQ(node->mark(), mark);
  }
  Problems problems;
  const auto map = ParseYamlValue("{a: [x]}", mark, problems);
  EXPECT_EQ(map->FindPath("a.0")->mark(), mark);
  EXPECT_EQ(map->entries()[0].key_mark, mark);
}

TEST(YamlValue, SaysWhatIsWrongWithIt) {
  Problems problems;
  const Mark mark{"command line", 0, 2};
  EXPECT_FALSE(ParseYamlValue("[1, 2", mark, problems));
  EXPECT_FALSE(ParseYamlValue("{a: 1, a: 2}", mark, problems));
  EXPECT_EQ(FormatProblems(problems),
            "error: cannot read the value \"[1, 2\"\n"
            "  detail: end of sequence flow not found, at \"[1, 2\"\n"
            "  where:  command line\n"
            "error: cannot read the value \"{a: 1, a: 2}\"\n"
            "  detail: duplicate key \"a\"\n"
            "  where:  command line\n"
            "  hint:   remove one of them\n");
}

}  // namespace
}  // namespace slipway::recipe
