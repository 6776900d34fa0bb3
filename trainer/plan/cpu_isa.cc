#include "trainer/plan/cpu_isa.h"

#include <cstdint>

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace slipway::plan {
namespace {

constexpr uint32_t Bit(int position) { return uint32_t{1} << position; }

// CPUID.1:ECX.
constexpr uint32_t kFma = Bit(12);
constexpr uint32_t kSse42 = Bit(20);
constexpr uint32_t kOsXsave = Bit(27);
// CPUID.7.0:EBX and EDX; CPUID.7.1:EAX.
constexpr uint32_t kAvx2 = Bit(5);
constexpr uint32_t kAvx512 = Bit(16) | Bit(17) | Bit(30) | Bit(31);
constexpr uint32_t kAmxBf16 = Bit(22) | Bit(24);  // and AMX_TILE
constexpr uint32_t kAvx512Bf16 = Bit(5);
// XCR0: the states of SSE and AVX, of AVX-512's masks and upper halves, and of
// AMX's tiles.
constexpr uint64_t kYmmState = 0x6;
constexpr uint64_t kZmmState = 0xe6;
constexpr uint64_t kTileState = 0x60000;

template <typename T>
bool Has(T value, T bits) {
  return (value & bits) == bits;
}

}  // namespace

CpuIsa IsaOf(const CpuidLeaves& leaves) {
  if (!Has(leaves.leaf1_ecx, kSse42)) return {"generic", false};
  const bool ymm = Has(leaves.leaf1_ecx, kOsXsave) &&
                   Has(leaves.xcr0, kYmmState) && Has(leaves.leaf1_ecx, kFma);
  if (!ymm || !Has(leaves.leaf7_ebx, kAvx2)) return {"sse4", false};
  if (!Has(leaves.xcr0, kZmmState) || !Has(leaves.leaf7_ebx, kAvx512)) {
    return {"avx2", false};
  }
  if (Has(leaves.xcr0, kTileState) && Has(leaves.leaf7_edx, kAmxBf16)) {
    return {"amx_bf16", true};
  }
  if (Has(leaves.leaf7_1_eax, kAvx512Bf16)) return {"avx512_bf16", true};
  return {"avx512", false};
}

#if defined(__x86_64__)

CpuIsa DetectCpuIsa() {
  CpuidLeaves leaves;
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) leaves.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
    leaves.leaf7_ebx = ebx;
    leaves.leaf7_edx = edx;
    // EAX is the number of the last subleaf.
    if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx)) {
      leaves.leaf7_1_eax = eax;
    }
  }
  if (Has(leaves.leaf1_ecx, kOsXsave)) {
    // XGETBV, whose intrinsic needs a compiler flag.
    __asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
    leaves.xcr0 = (uint64_t{edx} << 32) | eax;
  }
  return IsaOf(leaves);
}

#elif defined(__aarch64__)

CpuIsa DetectCpuIsa() { return {"neon", false}; }

#else

CpuIsa DetectCpuIsa() { return {}; }

#endif

}  // namespace slipway::plan
