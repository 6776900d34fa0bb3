#include "trainer/dist/collectives.h"

#include <string>
#include <vector>

#include "ATen/ops/arange.h"
#include "ATen/ops/full.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/dist/ranks.h"

namespace slipway::dist {
namespace {

using testing::Each;

void Require(bool holds) {
  if (!holds) std::abort();
}

TEST(Collectives, CopyTensorsOfMixedKindsFromRankZero) {
  const auto said =
      Said(RunRanks(3, [](ProcessGroup& group, std::ostream& out) {
        const double own = group.rank() + 1;
        const at::Tensor transposed = at::full({2, 3}, own).t();
        const std::vector<at::Tensor> tensors = {
            at::full({4}, own), at::full({}, own, at::kLong), transposed,
            at::full({0}, own), at::full({2}, own, at::kDouble)};
        Require(BroadcastTensors(group, tensors).ok());
        for (const at::Tensor& tensor : tensors) {
          out << tensor.sum().item().toDouble() << ",";
        }
      }));
  EXPECT_THAT(said, Each("4,1,6,0,2,"));
}

TEST(Collectives, KeepValuesInPlaceWhateverTheStrides) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        const at::Tensor values = at::arange(6, at::kFloat).view({2, 3});
        const at::Tensor strided =
            group.rank() == 0 ? values.t().contiguous().t() : values.clone();
        Require(AllReduceTensors(group, {strided}).ok());
        out << strided.equal(values.mul(2));
      }));
  EXPECT_THAT(said, Each("1"));
}

TEST(Collectives, SumNumbers) {
  const auto said =
      Said(RunRanks(4, [](ProcessGroup& group, std::ostream& out) {
        std::vector<double> numbers = {1, group.rank() * 0.5};
        Require(AllReduce(group, absl::MakeSpan(numbers)).ok());
        out << absl::StrJoin(numbers, " ");
      }));
  EXPECT_THAT(said, Each("4 3"));
}

TEST(Collectives, GatherTextsOfAnyLength) {
  const auto said =
      Said(RunRanks(3, [](ProcessGroup& group, std::ostream& out) {
        const auto all = AllGather(group, std::string(group.rank() * 3, 'a'));
        Require(all.ok());
        out << absl::StrJoin(*all, "|");
      }));
  EXPECT_THAT(said, Each("|aaa|aaaaaa"));
}

TEST(Collectives, CopyRankZerosText) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        out << *Broadcast(group, group.rank() == 0 ? "one" : "another");
      }));
  EXPECT_THAT(said, Each("one"));
}

TEST(Collectives, ChangeNothingInAWorldOfOne) {
  ProcessGroup group;
  std::vector<double> numbers = {1.5};
  EXPECT_TRUE(AllReduce(group, absl::MakeSpan(numbers)).ok());
  EXPECT_EQ(numbers[0], 1.5);
  EXPECT_EQ(*Broadcast(group, "text"), "text");
  EXPECT_TRUE(BroadcastTensors(group, {}).ok());
}

}  // namespace
}  // namespace slipway::dist
