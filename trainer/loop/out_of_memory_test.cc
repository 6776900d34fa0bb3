#include "trainer/loop/out_of_memory.h"

#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

TEST(OutOfMemory, SaysWhatToChange) {
  Problem problem;
  ExplainOutOfMemory(absl::ResourceExhaustedError(
                         "[enforce fail at alloc_cpu.cpp:1] err == 0. x"),
                     {.batch_size = 64, .peak = 1'500'000'000}, problem);
  EXPECT_EQ(problem.detail,
            "[enforce fail at alloc_cpu.cpp:1] err == 0; the process held "
            "1.50 GB at most");
  EXPECT_EQ(problem.hint,
            "try batch_size 32 instead of 64 (with batch_accumulate 2 the "
            "optimizer's steps stay the same), or mixed_precision: True, or "
            "smaller images, or a smaller model; --dry_run tells the largest "
            "batch that fits");
}

TEST(OutOfMemory, ReadsTheCpusAllocator) {
  Problem problem;
  ExplainOutOfMemory(
      absl::ResourceExhaustedError(
          "[enforce fail at alloc_cpu.cpp:127] err == 0. "
          "DefaultCPUAllocator: can't allocate memory: you tried to allocate "
          "34359738368 bytes. Error code 12 (Cannot allocate memory)"),
      {.batch_size = 1,
       .mixed_precision = true,
       .peak = 1'500'000'000,
       .available = 2'250'000'000},
      problem);
  EXPECT_EQ(problem.detail,
            "a tensor of 34.36 GB was asked for; the process held 1.50 GB at "
            "most; 2.25 GB are left");
  EXPECT_EQ(problem.hint,
            "try smaller images, or a smaller model; --dry_run tells the "
            "largest batch that fits");
}

TEST(OutOfMemory, ReadsCudas) {
  Problem problem;
  ExplainOutOfMemory(
      absl::ResourceExhaustedError(
          "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total "
          "capacity of 139 GiB of which 3 GiB is free.\nMore."),
      {.batch_size = 2, .on_device = true, .peak = 140'000'000'000}, problem);
  EXPECT_EQ(problem.detail,
            "a tensor of 20.00 GiB was asked for; the device held 140.00 GB at "
            "most");
}

}  // namespace
}  // namespace slipway::loop
