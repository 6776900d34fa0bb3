#include "launcher/topology/cpu_set.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

using ::testing::HasSubstr;

TEST(CpuSet, ReadsAndWritesTheKernelsLists) {
  for (const char* text : {"", "0", "0-3", "0-3,8", "1,3,5-7", "0,2-3"}) {
    absl::StatusOr<CpuSet> set = CpuSet::Parse(text);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(set->ToString(), text);
  }
  EXPECT_EQ(CpuSet::Parse(" 0 , 1 - 2\n")->ToString(), "0-2");
  EXPECT_EQ(CpuSet::Parse("3,1,2,1")->ToString(), "1-3");
}

TEST(CpuSet, QuotesWhatIsNoCpu) {
  for (const char* bad :
       {"x", "1,,2", "3-1", "-1", "1-", "0-99999999", "1 2", "99999"}) {
    const absl::Status status = CpuSet::Parse(bad).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_THAT(std::string(CpuSet::Parse("0-2,x9").status().message()),
              HasSubstr("\"x9\""));
}

TEST(CpuSet, CombinesSets) {
  const CpuSet a = {0, 1, 2};
  const CpuSet b = {2, 3};
  EXPECT_EQ(a.Intersection(b), CpuSet({2}));
  EXPECT_EQ(a.Union(b), CpuSet({0, 1, 2, 3}));
  EXPECT_EQ(a.Difference(b), CpuSet({0, 1}));
}

}  // namespace
}  // namespace slipway::launcher
