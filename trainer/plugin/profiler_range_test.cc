#include "trainer/plugin/profiler_range.h"

#include <optional>
#include <string>
#include <vector>

#include "ATen/record_function.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;

std::vector<std::string>& Heard() {
  static auto* const heard = new std::vector<std::string>;
  return *heard;
}

std::unique_ptr<at::ObserverContext> Began(const at::RecordFunction& record) {
  Heard().push_back(std::string("begin ") + record.name());
  return nullptr;
}

void Ended(const at::RecordFunction& record, at::ObserverContext*) {
  Heard().push_back(std::string("end ") + record.name());
}

TEST(ProfilerRange, IsHeardByWhoeverListens) {
  EXPECT_FALSE(ProfilerListens());
  const auto handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(Began, Ended)
                                     .scopes({at::RecordScope::USER_SCOPE}));
  EXPECT_TRUE(ProfilerListens());
  {
    const ProfilerRange outer("outer");
    const ProfilerRange inner(std::string("inner ") + std::string(40, 'x'));
  }
  at::removeCallback(handle);
  EXPECT_FALSE(ProfilerListens());
  const ProfilerRange unheard("unheard");
  const std::string inner = "inner " + std::string(40, 'x');
  EXPECT_THAT(Heard(), ElementsAre("begin outer", "begin " + inner,
                                   "end " + inner, "end outer"));
}

}  // namespace
}  // namespace slipway
