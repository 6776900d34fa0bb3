#include "trainer/report/event_record.h"

#include <cmath>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Bytes(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(
        std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// The records that TensorBoard 2.21's own writer makes of the same events.
TEST(EventRecord, EqualsTensorBoardsOwn) {
  EXPECT_EQ(FrameRecord(EncodeFileVersion(1000.5)),
            Bytes("1800000000000000a37f4b22090000000000448f401a0d627261696e2e"
                  "4576656e743a32aba33345"));
  EXPECT_EQ(FrameRecord(EncodeScalars(1000.5, 300, {{"valid_accuracy", 0.75}})),
            Bytes("2500000000000000eabc36f3090000000000448f4010ac022a170a150a"
                  "0e76616c69645f6163637572616379150000403f6dcc0b2e"));
  EXPECT_EQ(
      FrameRecord(EncodeSessionStart(1000.5, 0)),
      Bytes("0d000000000000003c37b834090000000000448f403a02080166803feb"));
  EXPECT_EQ(FrameRecord(EncodeText(1000.5, 0, "hyper_params", "a: 1")),
            Bytes("420000000000000079f36eaa090000000000448f402a370a350a196879"
                  "7065725f706172616d732f746578745f73756d6d617279420e08071204"
                  "120208014204613a20314a080a060a0474657874988f9212"));
}

TEST(EventRecord, TellsTimeStepAndTag) {
  const auto scalar = DecodeEvent(EncodeScalars(5.5, 1234567, {{"a", 1}}));
  ASSERT_TRUE(scalar);
  EXPECT_EQ(scalar->wall_time, 5.5);
  EXPECT_EQ(scalar->step, 1234567);
  EXPECT_EQ(scalar->tag, "a");
  EXPECT_EQ(DecodeEvent(EncodeText(1, 0, "b", "text"))->tag, "b/text_summary");
  EXPECT_EQ(DecodeEvent(EncodeSessionStart(1, 7))->step, 7);
  EXPECT_EQ(DecodeEvent(EncodeFileVersion(1))->tag, "");
}

TEST(EventRecord, KeepsNumbersThatAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {std::nan(""), infinity, -infinity}) {
    EXPECT_TRUE(DecodeEvent(EncodeScalars(1, 1, {{"a", value}})));
  }
}

TEST(EventRecord, RefusesBytesThatAreNoEvent) {
  const std::string event = EncodeScalars(1, 300, {{"a", 1}});
  for (size_t size = 1; size < event.size(); ++size) {
    // A message cut behind a field is one.
    const auto head = DecodeEvent(event.substr(0, size));
    if (size == 9 || size == 12) continue;
    EXPECT_FALSE(head) << size;
  }
  EXPECT_FALSE(DecodeEvent("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"));
  EXPECT_FALSE(DecodeEvent("\x0f"));          // no such wire type
  EXPECT_FALSE(DecodeEvent("\x2a\xff\x0f"));  // longer than what there is
}

TEST(EventRecord, EndsAtARecordThatIsCutOrDamaged) {
  const std::string one = FrameRecord("one"), two = FrameRecord("two");
  EXPECT_THAT(SplitRecords(""), IsEmpty());
  EXPECT_THAT(SplitRecords(one + two), ElementsAre("one", "two"));
  for (size_t size = 0; size < two.size(); ++size) {
    EXPECT_THAT(SplitRecords(one + two.substr(0, size)), ElementsAre("one"));
    std::string damaged = two;
    damaged[size] ^= 1;
    EXPECT_THAT(SplitRecords(one + damaged), ElementsAre("one"));
  }
}

}  // namespace
}  // namespace slipway
