#include "trainer/plan/cpu_isa.h"

#include <array>
#include <string>

#include "gtest/gtest.h"

namespace slipway::plan {
namespace {

// Registers as processors report them (the bits that count here).
constexpr CpuidLeaves kNehalem = {.leaf1_ecx = 0x00100000};
constexpr CpuidLeaves kZen2 = {
    .leaf1_ecx = 0x18101000, .leaf7_ebx = 0x00000020, .xcr0 = 0x7};
constexpr CpuidLeaves kSkylakeServer = {
    .leaf1_ecx = 0x18101000, .leaf7_ebx = 0xc0030020, .xcr0 = 0xe7};
constexpr CpuidLeaves kZen4 = {.leaf1_ecx = 0x18101000,
                               .leaf7_ebx = 0xc0030020,
                               .leaf7_1_eax = 0x20,
                               .xcr0 = 0xe7};
constexpr CpuidLeaves kSapphireRapids = {.leaf1_ecx = 0x18101000,
                                         .leaf7_ebx = 0xc0030020,
                                         .leaf7_edx = 0x03400000,
                                         .leaf7_1_eax = 0x20,
                                         .xcr0 = 0x600e7};

TEST(CpuIsa, IsTheWidestThatTheProcessorHas) {
  EXPECT_EQ(IsaOf({}), (CpuIsa{"generic", false}));
  EXPECT_EQ(IsaOf(kNehalem), (CpuIsa{"sse4", false}));
  EXPECT_EQ(IsaOf(kZen2), (CpuIsa{"avx2", false}));
  EXPECT_EQ(IsaOf(kSkylakeServer), (CpuIsa{"avx512", false}));
  EXPECT_EQ(IsaOf(kZen4), (CpuIsa{"avx512_bf16", true}));
  EXPECT_EQ(IsaOf(kSapphireRapids), (CpuIsa{"amx_bf16", true}));
}

TEST(CpuIsa, CountsOnlyWhatTheOperatingSystemSaves) {
  CpuidLeaves leaves = kSapphireRapids;
  leaves.xcr0 = 0xe7;
  EXPECT_EQ(IsaOf(leaves).name, "avx512_bf16");
  leaves.xcr0 = 0x7;
  EXPECT_EQ(IsaOf(leaves).name, "avx2");
  leaves.xcr0 = 0x3;
  EXPECT_EQ(IsaOf(leaves).name, "sse4");
  leaves = kZen2;
  leaves.leaf1_ecx &= ~0x08000000u;  // OSXSAVE
  EXPECT_EQ(IsaOf(leaves).name, "sse4");
}

TEST(CpuIsa, AgreesWithTheCompilersOwnCheckHere) {
  const CpuIsa here = DetectCpuIsa();
#ifdef __x86_64__
  const bool has_avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  EXPECT_EQ(here.name == "sse4" || here.name == "generic", !has_avx2)
      << here.name;
  const bool has_avx512 =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
  EXPECT_EQ(here.name.starts_with("avx512") || here.name == "amx_bf16",
            has_avx512)
      << here.name;
#else
  EXPECT_FALSE(here.name.empty());
#endif
}

}  // namespace
}  // namespace slipway::plan
