// Ranks of a program of your own, without LibTorch: each throws darts at a
// square and prints what it makes of pi.
//
//   bazel run //tests/examples:spawn
//   bazel run //launcher -- --num_processes=2 --
//   $(pwd)/bazel-bin/tests/examples/spawn
#include "launcher/spawn/spawn.h"

#include <cstdint>
#include <iostream>
#include <random>

#include "absl/strings/str_format.h"

using namespace slipway;  // NOLINT: an example shows what it is about

absl::Status ThrowDarts(const launcher::Rank& rank) {
  constexpr int64_t kDarts = 1'000'000;
  std::mt19937_64 random(static_cast<uint64_t>(rank.rank));
  std::uniform_real_distribution<double> place(-1, 1);
  int64_t inside = 0;
  for (int64_t i = 0; i < kDarts; ++i) {
    const double x = place(random), y = place(random);
    if (x * x + y * y < 1) ++inside;
  }
  std::cout << absl::StreamFormat("rank %d of %d: pi is about %.3f\n",
                                  rank.rank, rank.world_size,
                                  4.0 * static_cast<double>(inside) / kDarts);
  return absl::OkStatus();
}

int main() {
  return launcher::ExitCode(launcher::Spawn({.num_processes = 2}, ThrowDarts));
}
