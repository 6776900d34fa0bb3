#include "trainer/plugin/exception.h"

#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "c10/util/Exception.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

absl::Status StatusOf(const std::function<void()>& thrower) {
  try {
    thrower();
  } catch (...) {
    return CurrentExceptionStatus();
  }
  return absl::OkStatus();
}

TEST(CurrentExceptionStatus, TellsWhatWasThrown) {
  const struct {
    std::function<void()> thrower;
    absl::Status expected;
  } cases[] = {
      {[] { throw std::out_of_range("index 7"); },
       absl::InternalError("std::out_of_range: index 7")},
      {[] { throw std::bad_alloc(); },
       absl::ResourceExhaustedError("out of memory")},
      {[] { TORCH_CHECK(false, "shapes differ"); },
       absl::InternalError("shapes differ")},
      {[] { TORCH_CHECK_WITH(OutOfMemoryError, false, "no room"); },
       absl::ResourceExhaustedError("no room")},
      {[] {
         TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory: 9");
       },
       absl::ResourceExhaustedError(
           "DefaultCPUAllocator: can't allocate memory: 9")},
      {[] { throw "text"; },
       absl::InternalError("threw a value of type char const*")},
  };
  for (const auto& test : cases) {
    EXPECT_EQ(StatusOf(test.thrower), test.expected);
  }
}

}  // namespace
}  // namespace slipway
