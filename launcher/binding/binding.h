// Binding a process to CPUs and memory nodes, between fork and exec.
//
//   // in the child:
//   const BindingResult bound = Bind({.cpus = rank.cpus, ...});
//   write(report_pipe, &bound, sizeof(bound));
//   execve(...);
//   // in the parent:
//   absl::Status status = CheckBinding(wanted, bound, BindMode::kStrict, ...);
//
// CPU mask and memory policy are independent: a container that forbids one
// still gets the other. What the kernel made of the mask is read back, since it
// silently drops CPUs outside the process's cpuset.
#ifndef SLIPWAY_LAUNCHER_BINDING_BINDING_H_
#define SLIPWAY_LAUNCHER_BINDING_BINDING_H_

#include <string_view>
#include <vector>

#include "launcher/topology/cpu_set.h"
#include "trainer/recipe/problem.h"

namespace slipway::launcher {

enum class BindMode {
  kStrict,      // a binding that fails ends the launch
  kBestEffort,  // it is a warning
  kNone,        // nothing is bound
};

// "strict", "best_effort" or "none", and back; strict for any other text.
const char* ToString(BindMode mode);
BindMode BindModeNamed(std::string_view name);

// What to bind to, prepared before fork: Bind itself allocates nothing.
class Binding {
 public:
  // The largest numbers that fit.
  static constexpr int kMaxCpus = 4096;
  static constexpr int kMaxNodes = 1024;

  Binding(const CpuSet& cpus, const std::vector<int>& memory_nodes);

  const CpuSet& cpus() const { return cpus_; }

 private:
  friend struct BindingResult Bind(const Binding& binding);

  CpuSet cpus_;
  unsigned long cpu_mask_[kMaxCpus / 64] = {};
  unsigned long node_mask_[kMaxNodes / 64] = {};
  bool has_nodes_ = false;
};

// What came of it, in a shape that may be written through a pipe.
struct BindingResult {
  // errno of sched_setaffinity and set_mempolicy; 0: done (or not asked for).
  int cpu_error = 0;
  int memory_error = 0;
  // The mask that the kernel shows afterwards.
  unsigned long cpu_mask[Binding::kMaxCpus / 64] = {};

  CpuSet cpus() const;
};

// Binds the calling thread (and what it will exec). Async-signal-safe.
BindingResult Bind(const Binding& binding);

// Compares what was wanted with what came. A problem (an error if `mode` is
// strict, else a warning) for a mask that differs and for a refused memory
// policy; EPERM, as containers give it, is a warning in every mode.
void CheckBinding(int rank, const Binding& wanted, const BindingResult& bound,
                  BindMode mode, Problems& problems);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_BINDING_BINDING_H_
