#include "trainer/report/crc32c.h"

#include <string>

#include "gtest/gtest.h"

namespace slipway {
namespace {

// RFC 3720, appendix B.4; the second is the usual check value.
TEST(Crc32c, EqualsThePublishedVectors) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending;
  for (char i = 0; i < 32; ++i) ascending.push_back(i);
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eu);
}

// The check value as TensorBoard's own writer masks it.
TEST(Crc32c, IsMaskedAsRecordsStoreIt) {
  EXPECT_EQ(MaskedCrc32c("123456789"), 0xc78ab0e5u);
}

}  // namespace
}  // namespace slipway
