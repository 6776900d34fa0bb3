// The widest instruction set of this machine's CPU.
//
//   CpuIsa cpu = DetectCpuIsa();  // {"avx2", false}
//
// The words are those of Environment::cpu_isa. Pure functions, safe from any
// thread.
#ifndef SLIPWAY_TRAINER_PLAN_CPU_ISA_H_
#define SLIPWAY_TRAINER_PLAN_CPU_ISA_H_

#include <cstdint>
#include <string>

namespace slipway::plan {

struct CpuIsa {
  std::string name = "generic";
  // Whether it multiplies bf16 in hardware.
  bool bf16 = false;

  bool operator==(const CpuIsa&) const = default;
};

// The registers of x86's CPUID that tell instruction sets, and XCR0, which
// tells the registers that the operating system saves.
struct CpuidLeaves {
  uint32_t leaf1_ecx = 0;
  uint32_t leaf7_ebx = 0;
  uint32_t leaf7_edx = 0;
  uint32_t leaf7_1_eax = 0;
  uint64_t xcr0 = 0;
};

// What such a CPU can do. A set counts if the operating system saves its
// registers; "avx512" is F, BW, DQ and VL together, as LibTorch needs them.
CpuIsa IsaOf(const CpuidLeaves& leaves);

// This machine's.
CpuIsa DetectCpuIsa();

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_CPU_ISA_H_
