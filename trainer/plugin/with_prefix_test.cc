#include "trainer/plugin/with_prefix.h"

#include "absl/strings/cord.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

TEST(WithPrefix, KeepsCodeAndPayloads) {
  absl::Status status = absl::NotFoundError("no such record");
  status.SetPayload("slipway/test", absl::Cord("7"));
  const absl::Status prefixed = WithPrefix("a.pth", status);
  EXPECT_EQ(prefixed.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(prefixed.message(), "a.pth: no such record");
  EXPECT_EQ(prefixed.GetPayload("slipway/test"), absl::Cord("7"));
}

TEST(WithPrefix, NamesTheCodeOfAnErrorWithoutAMessage) {
  EXPECT_EQ(WithPrefix("a.pth", absl::AbortedError("")),
            absl::AbortedError("a.pth: ABORTED"));
}

TEST(WithPrefix, LeavesSuccessAlone) {
  EXPECT_EQ(WithPrefix("a.pth", absl::OkStatus()), absl::OkStatus());
}

}  // namespace
}  // namespace slipway
