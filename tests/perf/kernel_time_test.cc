#include "tests/perf/kernel_time.h"

#include <chrono>
#include <functional>
#include <thread>

#include "ATen/ops/mm.h"
#include "ATen/ops/randn.h"
#include "gtest/gtest.h"

namespace slipway::perf {
namespace {

double SecondsOf(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

TEST(KernelSecondsOf, IsZeroWithoutKernels) {
  EXPECT_EQ(KernelSecondsOf([] {}), 0);
}

TEST(KernelSecondsOf, LeavesOutWhatIsBetweenKernels) {
  const at::Tensor a = at::randn({64, 64});
  double kernels = 0;
  const double all = SecondsOf([&] {
    kernels = KernelSecondsOf([&] {
      at::mm(a, a);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      at::mm(a, a);
    });
  });
  EXPECT_GT(kernels, 0);
  EXPECT_LE(kernels, all - 0.05);
}

// randn calls empty and normal_.
TEST(KernelSecondsOf, CountsAKernelInAnotherOnce) {
  double kernels = 0;
  const double all = SecondsOf([&] {
    kernels = KernelSecondsOf([] { at::randn({256, 256}); });
  });
  EXPECT_GT(kernels, 0);
  EXPECT_LE(kernels, all);
}

}  // namespace
}  // namespace slipway::perf
