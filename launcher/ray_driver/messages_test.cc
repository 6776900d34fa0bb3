#include "launcher/ray_driver/messages.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::messages {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Decoder, GivesBackWhatWasEncodedHoweverItArrives) {
  const std::string stream = Encode({Type::kData, 3, std::string("a\0b", 3)}) +
                             Encode({Type::kOutEnd, -1, ""}) +
                             Encode({Type::kOut, 0, std::string(70000, 'x')});
  for (const size_t piece :
       {size_t{1}, size_t{7}, size_t{4096}, stream.size()}) {
    Decoder decoder;
    Message message;
    std::vector<Message> got;
    for (size_t at = 0; at < stream.size(); at += piece) {
      const std::string some = stream.substr(at, piece);
      decoder.Add(some.data(), some.size());
      while (decoder.Next(message)) got.push_back(message);
    }
    ASSERT_EQ(got.size(), 3u) << piece;
    EXPECT_EQ(got[0].type, Type::kData);
    EXPECT_EQ(got[0].seat, 3);
    EXPECT_EQ(got[0].body, std::string("a\0b", 3));
    EXPECT_EQ(got[1].type, Type::kOutEnd);
    EXPECT_EQ(got[1].seat, -1);
    EXPECT_EQ(got[2].body.size(), 70000u);
    EXPECT_FALSE(decoder.broken());
  }
}

TEST(Decoder, IsBrokenByAnImpossibleLength) {
  Decoder decoder;
  decoder.Add("\xff\xff\xff\xff noise", 10);
  Message message;
  EXPECT_FALSE(decoder.Next(message));
  EXPECT_TRUE(decoder.broken());
}

TEST(List, ComesBackWithEmptyAndBinaryTexts) {
  const std::vector<std::string> texts = {"", std::string("\0\n", 2), "end"};
  std::vector<std::string> back;
  ASSERT_TRUE(Split(Join(texts), back));
  EXPECT_EQ(back, texts);
  ASSERT_TRUE(Split("", back));
  EXPECT_THAT(back, IsEmpty());
}

TEST(List, IsRefusedWhenItIsCutShort) {
  const std::string joined = Join({"one", "two"});
  std::vector<std::string> back;
  for (size_t size = 1; size < joined.size(); ++size) {
    if (size == 7) continue;  // the first one, whole
    EXPECT_FALSE(Split(joined.substr(0, size), back)) << size;
  }
  ASSERT_TRUE(Split(joined.substr(0, 7), back));
  EXPECT_THAT(back, ElementsAre("one"));
}

}  // namespace
}  // namespace slipway::messages
