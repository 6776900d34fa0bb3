#include "trainer/checkpoint/average.h"

#include <string>

#include "ATen/ops/allclose.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/tensor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/checkpoint.h"

namespace slipway {
namespace {

using ::testing::HasSubstr;

std::string Write(const std::string& name, std::vector<nn::NamedTensor> net) {
  const std::string path = testing::TempDir() + "/" + name;
  Checkpoint checkpoint;
  checkpoint.net = std::move(net);
  EXPECT_TRUE(WriteCheckpoint(checkpoint, path).ok());
  return path;
}

TEST(AverageNets, TakesTheMeanOfEachTensor) {
  std::vector<std::string> paths;
  for (int i = 1; i <= 4; ++i) {
    paths.push_back(
        Write(std::to_string(i) + ".pth",
              {{"weight", at::tensor({1.0f * i, 0.1f * i})},
               {"half", at::full({2}, i, at::kHalf)},
               {"bn.num_batches_tracked", at::full({}, 10 * i, at::kLong)}}));
  }
  const auto mean = AverageNets(paths);
  ASSERT_TRUE(mean.ok()) << mean.status();
  ASSERT_EQ(mean->size(), 3u);
  EXPECT_EQ((*mean)[0].first, "weight");
  EXPECT_TRUE(at::allclose((*mean)[0].second, at::tensor({2.5f, 0.25f})));
  EXPECT_TRUE(at::equal((*mean)[1].second, at::full({2}, 2.5, at::kHalf)));
  EXPECT_EQ((*mean)[2].second.item<int64_t>(), 40);
}

TEST(AverageNets, IsTheFileItselfForOne) {
  const at::Tensor weight = at::tensor({0.1f, 1e-30f, 3e38f});
  const auto mean = AverageNets({Write("one.pth", {{"weight", weight}})});
  ASSERT_TRUE(mean.ok());
  EXPECT_TRUE(at::equal((*mean)[0].second, weight));
}

TEST(AverageNets, NamesWhereNetsDiffer) {
  const std::string first = Write(
      "first.pth", {{"a", at::full({2}, 1.0)}, {"b", at::full({2}, 1.0)}});
  const struct {
    std::vector<nn::NamedTensor> net;
    const char* message;
  } cases[] = {
      {{{"a", at::full({2}, 1.0)}}, "at \"b\""},
      {{{"a", at::full({3}, 1.0)}, {"b", at::full({2}, 1.0)}}, "at \"a\""},
      {{{"a", at::full({2}, 1.0)}, {"c", at::full({2}, 1.0)}}, "at \"b\""},
      {{{"a", at::full({2}, 1, at::kLong)}, {"b", at::full({2}, 1.0)}},
       "at \"a\""},
      {{{"a", at::full({2}, 1.0)},
        {"b", at::full({2}, 1.0)},
        {"c", at::full({2}, 1.0)}},
       "at \"c\""},
  };
  for (const auto& c : cases) {
    const std::string other = Write("other.pth", c.net);
    const absl::Status status = AverageNets({first, other}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(other + ": differs from the first file"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

TEST(AverageNets, NamesAFileThatIsGone) {
  EXPECT_THAT(std::string(AverageNets({"/nowhere/1.pth"}).status().message()),
              HasSubstr("/nowhere/1.pth"));
}

}  // namespace
}  // namespace slipway
