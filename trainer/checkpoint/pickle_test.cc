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

TEST(Unpickle, RefusesUnknownNamesByName) {
  const absl::Status status = Unpickle(
                                  "\x80\x02"
                                  "cposix\nsystem\nX\x02\0\0\0ls\x85R.")
                                  .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("posix.system"));
}

TEST(Unpickle, RefusesUnknownOpcodes) {
  const absl::Status status = Unpickle("\x80\x02i.").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("opcode 0x69"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("offset 2"));
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
  const BadTensor cases[] = {
      {"outside", outside, "outside its storage"},
      {"overflow", overflow, "outside its storage"},
      {"expanded", expanded, "larger than its storage"},
      {"negative", negative, "arguments of a wrong kind"},
  };
  for (const BadTensor& bad : cases) {
    const absl::Status status =
        Unpickle(Pickle(PickleValue::Tensor(bad.tensor))).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.message));
  }
}

TEST(Unpickle, RefusesAListThatHoldsItself) {
  // [] stored at 0; then itself appended.
  const absl::Status status = Unpickle(
                                  "\x80\x02]q\x01h\x01"
                                  "a.")
                                  .status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("nested too deeply"));
}

TEST(Unpickle, RefusesWhatSharingBlowsUp) {
  // Forty levels of a pair of the level below: 2^40 leaves.
  std::string bytes = "\x80\x02K\x01";
  for (int level = 0; level < 40; ++level) {
    bytes += Bytes({'q', level, 'h', level, 0x86});
  }
  const absl::Status status = Unpickle(bytes + ".").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("far larger"));
}

TEST(Unpickle, SurvivesDeepNesting) {
  std::string bytes = "\x80\x02)";
  for (int level = 0; level < 1'000'000; ++level) bytes += '\x85';
  EXPECT_FALSE(Unpickle(bytes + ".").ok());
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
