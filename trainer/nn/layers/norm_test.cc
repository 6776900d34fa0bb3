#include "trainer/nn/layers/norm.h"

#include <string>

#include "ATen/ops/ones.h"
#include "c10/util/Exception.h"
#include "gtest/gtest.h"

namespace slipway::nn {
namespace {

std::string ErrorOf(Module& module, const at::Tensor& x) {
  try {
    module.Run(x);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

TEST(BatchNorm, NeedsMoreThanOneValueAChannelWhileTraining) {
  const auto norm = BatchNorm2d(3);
  const at::Tensor one = at::ones({1, 3, 1, 1});
  EXPECT_NE(ErrorOf(*norm, one)
                .find("one value a channel is too few to normalise a batch by: "
                      "[1, 3, 1, 1]; train with larger batches or images"),
            std::string::npos);
  norm->Train(false);
  EXPECT_EQ(ErrorOf(*norm, one), "");
}

TEST(BatchNorm, RefusesInputsOfOtherDimensions) {
  EXPECT_NE(ErrorOf(*BatchNorm2d(3), at::ones({2, 3}))
                .find("BatchNorm2d takes [N, C, H, W], not [2, 3]"),
            std::string::npos);
  EXPECT_NE(ErrorOf(*BatchNorm1d({.features = 3}), at::ones({2, 3, 4, 4}))
                .find("BatchNorm1d takes [N, C] or [N, C, L]"),
            std::string::npos);
}

TEST(BatchNorm, CountsTheBatchesItTrainedOn) {
  const auto norm = BatchNorm2d(3);
  const at::Tensor x = at::ones({2, 3, 2, 2});
  norm->Run(x);
  norm->Run(x);
  norm->Train(false);
  norm->Run(x);
  const NamedTensor count = norm->NamedBuffers()[2];
  EXPECT_EQ(count.first, "num_batches_tracked");
  EXPECT_EQ(count.second.scalar_type(), at::kLong);
  EXPECT_EQ(count.second.item<int64_t>(), 2);
}

TEST(GroupNormDeathTest, RefusesGroupsThatDoNotDivideTheChannels) {
  EXPECT_DEATH(GroupNorm({.groups = 3, .channels = 4}),
               "3 groups do not divide 4 channels");
}

}  // namespace
}  // namespace slipway::nn
