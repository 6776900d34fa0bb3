#include "trainer/plugin/exception.h"

#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "c10/util/Exception.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

TEST(CurrentExceptionStatus, TellsWhatWasThrown) {
  const struct {
    std::function<void()> thrower;
    absl::StatusCode code;
    std::string message;
    bool out_of_memory = false;
  } cases[] = {
      {[] { throw std::out_of_range("index 7"); }, absl::StatusCode::kInternal,
       "std::out_of_range: index 7"},
      {[] { throw std::bad_alloc(); }, absl::StatusCode::kResourceExhausted,
       "out of memory", true},
      {[] { TORCH_CHECK(false, "shapes differ"); }, absl::StatusCode::kInternal,
       "shapes differ"},
      {[] { TORCH_CHECK_WITH(OutOfMemoryError, false, "no room"); },
       absl::StatusCode::kResourceExhausted, "no room", true},
      {[] {
         TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory: 9");
       },
       absl::StatusCode::kResourceExhausted,
       "DefaultCPUAllocator: can't allocate memory: 9", true},
      {[] { throw "text"; }, absl::StatusCode::kInternal,
       "threw a value of type char const*"},
  };
  for (const auto& test : cases) {
    const absl::Status status = Guarded(test.thrower);
    EXPECT_EQ(status.code(), test.code) << test.message;
    EXPECT_EQ(status.message(), test.message);
    EXPECT_EQ(IsOutOfMemory(status), test.out_of_memory) << test.message;
  }
}

TEST(IsOutOfMemory, IsNotAFullDisk) {
  EXPECT_FALSE(IsOutOfMemory(absl::ResourceExhaustedError("disk full")));
}

TEST(Guarded, ReturnsWhatTheFunctionReturns) {
  EXPECT_EQ(Guarded([] {}), absl::OkStatus());
  EXPECT_EQ(Guarded([] { return absl::NotFoundError("x"); }),
            absl::NotFoundError("x"));
  const absl::StatusOr<int> seven =
      Guarded([]() -> absl::StatusOr<int> { return 7; });
  EXPECT_EQ(seven.value(), 7);
  const absl::StatusOr<int> thrown = Guarded(
      []() -> absl::StatusOr<int> { throw std::out_of_range("index 7"); });
  EXPECT_EQ(thrown.status(), absl::InternalError("std::out_of_range: index 7"));
}

}  // namespace
}  // namespace slipway
