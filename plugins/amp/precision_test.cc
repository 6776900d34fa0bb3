#include "plugins/amp/precision.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace slipway::amp {
namespace {

constexpr Precision kBf16 = {at::ScalarType::BFloat16, false};
constexpr Precision kFp16 = {at::ScalarType::Half, true};

plan::Environment Cpu(bool bf16) {
  plan::Environment environment;
  environment.cpu_bf16 = bf16;
  return environment;
}

struct Case {
  const char* name;
  Options options;
  at::DeviceType device;
  bool cpu_bf16;
  std::optional<Precision> expected;
};

class ChoosePrecisionTest : public testing::TestWithParam<Case> {};

TEST_P(ChoosePrecisionTest, DependsOnDeviceAndInstructions) {
  EXPECT_EQ(ChoosePrecision(GetParam().options, GetParam().device,
                            Cpu(GetParam().cpu_bf16)),
            GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ChoosePrecisionTest,
    testing::Values(
        Case{"auto_with_bf16", {}, at::kCPU, true, kBf16},
        Case{"auto_without", {}, at::kCPU, false, std::nullopt},
        Case{"auto_forced", {.force = true}, at::kCPU, false, kBf16},
        Case{"bf16_without", {Dtype::kBf16}, at::kCPU, false, std::nullopt},
        Case{"fp16_on_cpu", {Dtype::kFp16}, at::kCPU, true, kFp16},
        Case{"fp16_without", {Dtype::kFp16}, at::kCPU, false, std::nullopt},
        Case{"fp16_forced", {Dtype::kFp16, true}, at::kCPU, false, kFp16},
        Case{"auto_on_cuda", {}, at::kCUDA, false, kFp16},
        Case{"bf16_on_cuda", {Dtype::kBf16}, at::kCUDA, false, kBf16}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace slipway::amp
