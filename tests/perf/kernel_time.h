// How much of a step is spent in kernels: the limit of what better code around
// them could gain.
//
//   const double kernels = KernelSecondsOf([&] { step(); });
//
// A kernel is an operator of ATen, or a loop or call that the compiler
// generated with its option "cpp.enable_kernel_profile". What calls another
// counts once.
#ifndef SLIPWAY_TESTS_PERF_KERNEL_TIME_H_
#define SLIPWAY_TESTS_PERF_KERNEL_TIME_H_

#include <functional>

namespace slipway::perf {

// Wall seconds that the calling thread spends in kernels while `f` runs.
double KernelSecondsOf(const std::function<void()>& f);

}  // namespace slipway::perf

#endif  // SLIPWAY_TESTS_PERF_KERNEL_TIME_H_
