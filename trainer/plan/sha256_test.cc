#include "trainer/plan/sha256.h"

#include <string>

#include "gtest/gtest.h"

namespace slipway::plan {
namespace {

// The examples of FIPS 180-2.
TEST(Sha256, HashesTheStandardsExamples) {
  EXPECT_EQ(Sha256(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace slipway::plan
