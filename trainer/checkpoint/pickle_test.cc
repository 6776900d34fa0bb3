#include "trainer/checkpoint/pickle.h"

#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::HasSubstr;

std::string Bytes(std::initializer_list<int> codes) {
  std::string bytes;
  for (int code : codes) bytes += static_cast<char>(code);
  return bytes;
}

PickledTensor SomeTensor(std::string dtype) {
  return {.dtype = std::move(dtype),
          .storage_key = "0",
          .storage_elements = 6,
          .offset = 0,
          .sizes = {2, 3},
          .strides = {3, 1}};
}

TEST(Pickle, RoundTripsScalars) {
  const int64_t integers[] = {0,
                              -1,
                              255,
                              1 << 20,
                              INT32_MIN,
                              5'000'000'000,
                              std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()};
  for (int64_t value : integers) {
    absl::StatusOr<PickleValue> back =
        Unpickle(Pickle(PickleValue::Int(value)));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->int_value(), value);
  }
  EXPECT_EQ(Unpickle(Pickle(PickleValue::Float(-0.1)))->number(), -0.1);
  EXPECT_EQ(Unpickle(Pickle(PickleValue::String("ü\0x")))->text(), "ü\0x");
  EXPECT_TRUE(Unpickle(Pickle(PickleValue::Bool(true)))->bool_value());
  EXPECT_EQ(Unpickle(Pickle(PickleValue()))->kind(), PickleValue::Kind::kNone);
}

TEST(Pickle, RoundTripsContainersInOrder) {
  PickleValue dict = PickleValue::Dict();
  dict.Set("z", PickleValue::List({PickleValue::Int(1), PickleValue::Int(2)}));
  dict.Set("a", PickleValue::Tuple({PickleValue::String("t")}));
  absl::StatusOr<PickleValue> back = Unpickle(Pickle(dict));
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->entries().size(), 2u);
  EXPECT_EQ(back->entries()[0].first.text(), "z");
  EXPECT_EQ(back->Find("z")->items()[1].int_value(), 2);
  EXPECT_EQ(back->Find("a")->kind(), PickleValue::Kind::kTuple);
}

TEST(Pickle, RoundTripsTensorsOfOldAndNewDtypes) {
  for (const char* dtype : {"float32", "bfloat16", "bool", "uint16"}) {
    absl::StatusOr<PickleValue> back =
        Unpickle(Pickle(PickleValue::Tensor(SomeTensor(dtype))));
    ASSERT_TRUE(back.ok()) << dtype << ": " << back.status();
    ASSERT_NE(back->tensor(), nullptr);
    EXPECT_EQ(back->tensor()->dtype, dtype);
    EXPECT_EQ(back->tensor()->storage_elements, 6);
    EXPECT_EQ(back->tensor()->sizes, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(back->tensor()->strides, (std::vector<int64_t>{3, 1}));
  }
}

TEST(Unpickle, RefusesEveryTruncation) {
  PickleValue dict = PickleValue::Dict();
  dict.Set("w", PickleValue::Tensor(SomeTensor("float32")));
  const std::string bytes = Pickle(dict);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Unpickle(bytes.substr(0, size)).ok()) << size;
  }
}

// A text of protocol 2.
std::string Text(const std::string& text) {
  const auto size = static_cast<int>(text.size());
  return Bytes({'X', size & 0xff, size >> 8, 0, 0}) + text;
}

std::string Repeat(const std::string& part, int count) {
  std::string whole;
  for (int i = 0; i < count; ++i) whole += part;
  return whole;
}

// Forty levels of a pair of the level below: 2^40 leaves.
std::string Doubling() {
  std::string bytes = "K\x01";
  for (int level = 0; level < 40; ++level) {
    bytes += Bytes({'q', level, 'h', level, 0x86});
  }
  return bytes;
}

struct Hostile {
  const char* what;
  std::string body;  // between the protocol and the end
  const char* message;
};

const Hostile kHostile[] = {
    {"a function", "cposix\nsystem\n" + Text("ls") + "\x85R",
     "the name \"posix.system\" is not one that a checkpoint may hold"},
    {"a function by stack", Text("builtins") + Text("eval") + "\x93",
     "\"builtins.eval\""},
    {"an attribute of one", "ctorch\nload\n", "\"torch.load\""},
    {"a name with control characters", "c\x1b[31m\nx\n", "\"\\x1b[31m.x\""},
    {"an object made", "(iposix\nsystem\n", "opcode 0x69"},
    {"an instance", ")\x81", "opcode 0x81"},
    {"a text of Python's own syntax", "S'x'\n", "opcode 0x53"},
    {"an extension", "\x82\x01", "opcode 0x82"},
    {"a call of a text", Text("x") + ")R", "something that is no function"},
    {"a call of a class", "ctorch\nFloatStorage\n)R", "torch.FloatStorage"},
    {"attributes of a list", "]}b", "something that has none"},
    {"items of a number",
     "K\x01K\x02"
     "a",
     "no list"},
    {"entries of a list", "]K\x01K\x02s", "no dict"},
    {"an odd number of entries", "}(K\x01u", "no dict"},
    {"a mark that is not there", "t", "no mark"},
    {"an empty stack", "0", "nothing on the stack"},
    {"what was never stored", "h\x07", "never stored"},
    {"a huge integer",
     "\x8a\x09"
     "123456789",
     "more than 64 bits"},
    {"a text that is none", Text("\xff"), "not UTF-8"},
    {"a list that holds itself",
     "]q\x01h\x01"
     "a",
     "nested too deeply"},
    {"a dict that holds itself", "}q\x01K\x01h\x01s", "nested too deeply"},
    {"deep nesting", ")" + Repeat("\x85", 1'000'000), "nested too deeply"},
    {"doubling", Doubling(), "far larger"},
    {"a long text again and again",
     Text(std::string(60'000, 'x')) +
         "q\x01"
         "0](" +
         Repeat("h\x01", 1000) + "e",
     "far larger"},
    {"a long list made a dict again and again",
     "](" + Repeat("K\x01K\x01\x86", 9'000) +
         "e\x85q\x01"
         "0](" +
         Repeat("ccollections\nOrderedDict\nh\x01R", 2000) + "e",
     "again and again"},
    {"a key twice", "}(" + Text("k") + "N" + Text("k") + "Nu",
     "the key \"k\" twice"},
    {"a storage alone",
     "(" + Text("storage") + "ctorch\nFloatStorage\n" + Text("0") +
         Text("cpu") + "K\x06tQ",
     "no tensor uses"},
    {"a persistent id of another kind", Text("x") + "Q", "no storage"},
    {"a numpy text",
     "cnumpy\ndtype\n" + Text("O") +
         "\x85Rq\x01"
         "0"
         "cnumpy.core.multiarray\nscalar\nh\x01"
         "C\x01x\x86R",
     "a numpy scalar of dtype \"O\""},
    {"a numpy number of another size",
     "cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\n" + Text("f8") +
         "\x85R"
         "C\x01x\x86R",
     "a numpy scalar of dtype \"f8\""},
    {"a big-endian number",
     "cnumpy\ndtype\n" + Text("f8") + "\x85R(K\x03" + Text(">") + "tb",
     "byte order \">\""},
};

TEST(Unpickle, RefusesWhatNoCheckpointHolds) {
  for (const Hostile& hostile : kHostile) {
    const absl::Status status =
        Unpickle("\x80\x02" + hostile.body + ".").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument)
        << hostile.what << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(hostile.message))
        << hostile.what;
  }
}

TEST(Unpickle, BoundsWhatAPickleMayHold) {
  const absl::Status large = Unpickle(std::string(65 << 20, 'N')).status();
  EXPECT_THAT(std::string(large.message()), HasSubstr("at most 67108864 here"));
  const absl::Status many = Unpickle(std::string(5 << 20, 'N')).status();
  EXPECT_THAT(std::string(many.message()),
              HasSubstr("more than 4194304 values"));
}

// numpy's `scalar(dtype(code), bytes)`, of protocol 4.
std::string NumpyScalar(const std::string& code, const std::string& bytes) {
  return "cnumpy._core.multiarray\nscalar\ncnumpy\ndtype\n" + Text(code) +
         "\x89\x88\x87R(K\x03" + Text("<") + "NNNtb" +
         Bytes({'C', static_cast<int>(bytes.size())}) + bytes + "\x86R";
}

TEST(Unpickle, ReadsNumpyScalarsAsNumbers) {
  const struct {
    const char* code;
    std::string bytes;
    double value;
  } cases[] = {
      {"f8", Bytes({0, 0, 0, 0, 0, 0, 0xe8, 0x3f}), 0.75},
      {"f4", Bytes({0, 0, 0, 0xbf}), -0.5},
      {"f2", Bytes({0, 0x3c}), 1},
      {"f2", Bytes({1, 0x80}), -0x1p-24},
      {"f2", Bytes({0xff, 0x7b}), 65504},
      {"f2", Bytes({0, 0xfc}), -std::numeric_limits<double>::infinity()},
      {"i1", Bytes({0xff}), -1},
      {"i8", Bytes({0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}), -2},
      {"u2", Bytes({0xff, 0xff}), 65535},
      {"u8", Bytes({0, 0, 0, 0, 0, 0, 0, 0x80}), 0x1p63},
      {"b1", Bytes({1}), 1},
  };
  for (const auto& c : cases) {
    const absl::StatusOr<PickleValue> value =
        Unpickle("\x80\x04" + NumpyScalar(c.code, c.bytes) + ".");
    ASSERT_TRUE(value.ok()) << c.code << ": " << value.status();
    EXPECT_EQ(value->number(), c.value) << c.code;
  }
}

struct BadTensor {
  const char* name;
  PickledTensor tensor;
  const char* message;
};

TEST(Unpickle, RefusesTensorsOutsideTheirStorage) {
  PickledTensor outside = SomeTensor("float32");
  outside.offset = 1;
  PickledTensor overflow = SomeTensor("float32");
  overflow.strides = {std::numeric_limits<int64_t>::max(), 1};
  PickledTensor expanded = SomeTensor("float32");
  expanded.sizes = {1'000'000'000, 6};
  expanded.strides = {0, 1};
  PickledTensor negative = SomeTensor("float32");
  negative.sizes = {-2, 3};
  PickledTensor dims = SomeTensor("float32");
  dims.sizes = std::vector<int64_t>(65, 1);
  dims.strides = std::vector<int64_t>(65, 1);
  PickledTensor empty = SomeTensor("float32");
  empty.sizes = {0, int64_t{1} << 40, int64_t{1} << 40};
  empty.strides = {1, 1, 1};
  PickledTensor bytes = SomeTensor("float64");
  bytes.storage_elements = int64_t{1} << 61;
  const BadTensor cases[] = {
      {"outside", outside, "outside its storage"},
      {"overflow", overflow, "outside its storage"},
      {"expanded", expanded, "larger than its storage"},
      {"negative", negative, "arguments of a wrong kind"},
      {"dims", dims, "arguments of a wrong kind"},
      {"empty", empty, "larger than its storage"},
      {"bytes", bytes, "more than 2^63 bytes"},
  };
  for (const BadTensor& bad : cases) {
    const absl::Status status =
        Unpickle(Pickle(PickleValue::Tensor(bad.tensor))).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.message));
  }
}

// torch.save of an OrderedDict: attributes (BUILD) are left out.
TEST(Unpickle, ReadsAnOrderedDictWithAttributes) {
  const std::string bytes =
      "\x80\x02"
      "ccollections\nOrderedDict\nq\x01)Rq\x02"
      "X\x01" +
      Bytes({0, 0, 0}) + "kK\x07s}X\x09" + Bytes({0, 0, 0}) + "_metadataNsb.";
  absl::StatusOr<PickleValue> value = Unpickle(bytes);
  ASSERT_TRUE(value.ok()) << value.status();
  ASSERT_EQ(value->entries().size(), 1u);
  EXPECT_EQ(value->Find("k")->int_value(), 7);
}

TEST(Unpickle, SurvivesEveryFlippedBit) {
  PickleValue dict = PickleValue::Dict();
  dict.Set("w", PickleValue::Tensor(SomeTensor("float32")));
  dict.Set("l", PickleValue::List({PickleValue::Float(1)}));
  const std::string good = Pickle(dict);
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      Unpickle(bad).status().IgnoreError();
    }
  }
}

}  // namespace
}  // namespace slipway
