// What a plan must know of the world, as a value.
//
//   plan::Environment here = plan::DetectEnvironment();
//   here.world_size = 2;
//   std::optional<plan::Plan> plan = plan::ResolvePlan(..., here, problems);
//
// No LibTorch: the launcher resolves plans too, before anything starts.
#ifndef SLIPWAY_TRAINER_PLAN_ENVIRONMENT_H_
#define SLIPWAY_TRAINER_PLAN_ENVIRONMENT_H_

#include <string>

namespace slipway::plan {

struct Environment {
  int world_size = 1;
  // "cpu" or "cuda".
  std::string device = "cpu";
  // The widest of "avx512_bf16", "avx512", "avx2", "sse4" (x86-64), "neon"
  // (AArch64) or "generic"; "amx_bf16" above them all.
  std::string cpu_isa = "generic";
  // Whether the CPU multiplies bf16 in hardware (avx512_bf16, amx_bf16).
  bool cpu_bf16 = false;
  // Of the LibTorch that this Slipway was built with, such as "2.15.0".
  std::string libtorch_version;
  // "linux"; "x86_64" or "aarch64".
  std::string os;
  std::string arch;
  // The launcher's --auto_lr, as lr_warmup's default.
  bool auto_lr = false;
};

// This machine: the CPU by cpuid, `device` "cuda" where the CUDA driver can be
// opened and shows a device, the rank variables (WORLD_SIZE, SLIPWAY_AUTO_LR)
// of this process.
Environment DetectEnvironment();

}  // namespace slipway::plan

#endif  // SLIPWAY_TRAINER_PLAN_ENVIRONMENT_H_
