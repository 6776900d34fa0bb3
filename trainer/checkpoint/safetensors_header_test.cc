#include "trainer/checkpoint/safetensors_header.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// A file: the header's length, the header, and `data` zero bytes.
std::string File(const std::string& header, size_t data) {
  std::string bytes;
  for (size_t i = 0; i < 8; ++i) {
    bytes += static_cast<char>(header.size() >> (8 * i));
  }
  return bytes + header + std::string(data, '\0');
}

absl::StatusOr<SafetensorsHeader> Read(const std::string& bytes) {
  return ReadSafetensorsHeader(*MemorySource(bytes));
}

constexpr char kTwo[] =
    R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("a":{"shape":[3],"dtype":"U8","data_offsets":[8,11]}})";

TEST(SafetensorsHeader, ReadsTensorsByOffset) {
  const absl::StatusOr<SafetensorsHeader> header = Read(File(kTwo, 11));
  ASSERT_TRUE(header.ok()) << header.status();
  ASSERT_EQ(header->entries.size(), 2u);
  EXPECT_EQ(header->entries[0].name, "b");
  EXPECT_EQ(header->entries[0].dtype, "float32");
  EXPECT_THAT(header->entries[0].shape, ElementsAre(2));
  EXPECT_EQ(header->entries[1].name, "a");
  EXPECT_EQ(header->entries[1].begin, 8u);
  EXPECT_EQ(header->data, 8 + std::string(kTwo).size());
}

TEST(SafetensorsHeader, ReadsMetadataScalarsAndEmptyTensors) {
  const absl::StatusOr<SafetensorsHeader> header =
      Read(File(R"({"__metadata__":{"format":"pt"},)"
                R"("e":{"dtype":"F64","shape":[0,9],"data_offsets":[0,0]},)"
                R"("s":{"dtype":"BOOL","shape":[],"data_offsets":[0,1]}}   )",
                1));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_THAT(header->metadata, ElementsAre(Pair("format", "pt")));
  EXPECT_EQ(header->entries.size(), 2u);
  EXPECT_TRUE(Read(File("{}", 0)).ok());
}

struct Bad {
  std::string bytes;
  const char* message;
};

std::string Entry(const std::string& content, size_t data = 8) {
  return File("{\"t\":{" + content + "}}", data);
}

TEST(SafetensorsHeader, RefusesWhatIsNone) {
  const std::string two = kTwo;
  const Bad cases[] = {
      {"", "too short"},
      {"1234567", "too short"},
      {std::string(8, '\xff'), "a header of 18446744073709551615 bytes"},
      {File("{}", 0).substr(0, 9), "a header of 2 bytes in a file of 9"},
      {File(" {}", 0), "does not begin with {"},
      {File("[]", 0), "does not begin with {"},
      {File("{\"t\":", 0), "not JSON"},
      {File("{} x", 0), "not JSON"},
      {File("{\"\xff\":1}", 0), "not JSON in UTF-8"},
      {File(std::string("{\"a\":") + std::string(100'000, '['), 0),
       "unexpected a list"},
      {File("{\"t\":{\"dtype\":{", 0), "unexpected an object"},
      {File("{\"t\":7}", 0), "unexpected a number"},
      {File("{\"\":{}}", 0), "a name is empty"},
      {File("{\"__metadata__\":{\"a\":1}}", 0), "unexpected a number"},
      {File("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0),
       "\"a\" occurs twice"},
      {Entry(R"("dtype":"F32","shape":[2])"), "needs dtype, shape"},
      {Entry(R"("dtype":"F32","shape":[2],"data_offsets":[8])"), "needs dtype"},
      {Entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,9])"),
       "a third offset"},
      {Entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1)"),
       "unexpected a number at \"x\""},
      {Entry(R"("dtype":"F32","dtype":"F32","shape":[2])"),
       "\"dtype\" occurs twice"},
      {Entry(R"("dtype":"F4","shape":[2],"data_offsets":[0,8])"),
       "dtype \"F4\", which LibTorch has not"},
      {Entry(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"),
       "a negative number"},
      {Entry(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"),
       "a fraction"},
      {Entry(R"("dtype":"F32","shape":[1e999],"data_offsets":[0,8])"),
       "not JSON"},
      {Entry(R"("dtype":"F32","shape":[99999999999999999999],)"
             R"("data_offsets":[0,8])"),
       "a huge number"},
      {Entry(R"("dtype":"F32","shape":[18446744073709551615],)"
             R"("data_offsets":[0,8])"),
       "absurd shape"},
      {Entry(R"("dtype":"F32","shape":[4611686018427387905,4],)"
             R"("data_offsets":[0,8])"),
       "do not fit its shape"},
      {Entry(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"),
       "do not fit its shape"},
      {Entry(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"),
       "do not fit its shape"},
      {Entry(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])", 12),
       "begins at 4, expected 0 (a hole)"},
      {Entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 7),
       "need 8 bytes, the file has 7 for them: truncated"},
      {Entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 9),
       "need 8 bytes, the file has 9"},
      {File(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
            R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
            6),
       "begins at 2, expected 4 (two overlap)"},
      {File(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
            R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
            2),
       "\"a\" occurs twice"},
  };
  for (const Bad& bad : cases) {
    const absl::Status status = Read(bad.bytes).status();
    EXPECT_FALSE(status.ok()) << bad.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.message));
  }
}

TEST(SafetensorsHeader, RefusesEveryTruncation) {
  const std::string bytes = File(kTwo, 11);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Read(bytes.substr(0, size)).ok()) << size;
  }
}

TEST(SafetensorsHeader, SurvivesEveryFlippedBit) {
  const std::string good = File(kTwo, 11);
  for (size_t i = 0; i < good.size() - 11; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      Read(bad).status().IgnoreError();
    }
  }
}

TEST(SafetensorsHeader, SortsWideDtypesFirstAndAlignsTheData) {
  SafetensorsHeader header;
  header.entries = {{.name = "z", .dtype = "uint8", .shape = {3}},
                    {.name = "b", .dtype = "float32", .shape = {2}},
                    {.name = "a", .dtype = "float32", .shape = {}},
                    {.name = "i", .dtype = "int64", .shape = {1}}};
  ASSERT_TRUE(LayOutSafetensors(header.entries).ok());
  std::string names;
  for (const SafetensorsEntry& entry : header.entries) names += entry.name;
  EXPECT_EQ(names, "iabz");
  const std::string bytes = SafetensorsHeaderBytes(header);
  EXPECT_EQ(bytes.size() % 8, 0u);
  const auto back = Read(bytes + std::string(header.entries.back().end, '\0'));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->entries[2].name, "b");
  EXPECT_EQ(back->entries[2].begin, 12u);
}

TEST(SafetensorsHeader, RefusesToLayOutWhatTheFormatCannotHold) {
  const struct {
    std::vector<SafetensorsEntry> entries;
    const char* message;
  } cases[] = {
      {{{.name = "c", .dtype = "complex128"}}, "\"c\" is complex128"},
      {{{.name = "__metadata__", .dtype = "bool"}}, "can be called"},
      {{{.name = "\xff", .dtype = "bool"}}, "can be called \"\\xff\""},
      {{{.name = "a", .dtype = "bool"}, {.name = "a", .dtype = "int8"}},
       "two tensors are called \"a\""},
  };
  for (auto bad : cases) {
    const absl::Status status = LayOutSafetensors(bad.entries);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.message));
  }
}

}  // namespace
}  // namespace slipway
