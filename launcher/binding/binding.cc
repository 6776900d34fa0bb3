#include "launcher/binding/binding.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace slipway::launcher {
namespace {

constexpr int kBits = 64;
// MPOL_BIND of <linux/mempolicy.h>, which is not on every machine.
constexpr int kMpolBind = 2;

void SetBit(unsigned long* mask, int bit) {
  mask[bit / kBits] |= 1UL << (bit % kBits);
}

Problem BindingProblem(int rank, Severity severity, std::string message,
                       std::string hint) {
  return {.kind = "value",
          .severity = severity,
          .message = std::move(message),
          .hint = std::move(hint),
          .rank = rank};
}

}  // namespace

Binding::Binding(const CpuSet& cpus, const std::vector<int>& memory_nodes)
    : cpus_(cpus) {
  for (int cpu : cpus) {
    if (cpu < kMaxCpus) SetBit(cpu_mask_, cpu);
  }
  for (int node : memory_nodes) {
    if (node < 0 || node >= kMaxNodes) continue;
    SetBit(node_mask_, node);
    has_nodes_ = true;
  }
}

CpuSet BindingResult::cpus() const {
  CpuSet set;
  for (int cpu = 0; cpu < Binding::kMaxCpus; ++cpu) {
    if (cpu_mask[cpu / kBits] >> (cpu % kBits) & 1) set.insert(cpu);
  }
  return set;
}

// Raw system calls: glibc's wrappers for the first two take fixed-size sets,
// and it has none for the third.
BindingResult Bind(const Binding& binding) {
  BindingResult result;
  if (!binding.cpus_.empty() &&
      syscall(SYS_sched_setaffinity, 0, sizeof(binding.cpu_mask_),
              binding.cpu_mask_) != 0) {
    result.cpu_error = errno;
  }
  if (binding.has_nodes_ &&
      syscall(SYS_set_mempolicy, kMpolBind, binding.node_mask_,
              Binding::kMaxNodes) != 0) {
    result.memory_error = errno;
  }
  syscall(SYS_sched_getaffinity, 0, sizeof(result.cpu_mask), result.cpu_mask);
  return result;
}

void CheckBinding(int rank, const Binding& wanted, const BindingResult& bound,
                  BindMode mode, Problems& problems) {
  if (mode == BindMode::kNone) return;
  const Severity severity =
      mode == BindMode::kStrict ? Severity::kError : Severity::kWarning;
  const CpuSet got = bound.cpus();
  if (!wanted.cpus().empty() && got != wanted.cpus()) {
    problems.push_back(BindingProblem(
        rank, severity,
        absl::StrCat(
            "rank ", rank, " was to run on CPUs ", wanted.cpus().ToString(),
            ", but runs on ", got.ToString(),
            bound.cpu_error == 0
                ? std::string()
                : absl::StrCat(" (", std::strerror(bound.cpu_error), ")")),
        "plan within the allowed CPUs, or use --bind=best_effort"));
  }
  if (bound.memory_error != 0) {
    const bool forbidden = bound.memory_error == EPERM;
    problems.push_back(BindingProblem(
        rank, forbidden ? Severity::kWarning : severity,
        absl::StrCat("rank ", rank, "'s memory policy was refused: ",
                     std::strerror(bound.memory_error)),
        forbidden ? "containers need the capability SYS_NICE for it; the CPU "
                    "mask holds all the same"
                  : "use --bind=best_effort to go on without it"));
  }
}

const char* ToString(BindMode mode) {
  switch (mode) {
    case BindMode::kStrict:
      return "strict";
    case BindMode::kBestEffort:
      return "best_effort";
    case BindMode::kNone:
      return "none";
  }
  return "";
}

BindMode BindModeNamed(std::string_view name) {
  if (name == "none") return BindMode::kNone;
  return name == "best_effort" ? BindMode::kBestEffort : BindMode::kStrict;
}

}  // namespace slipway::launcher
