// The nets of //tests/perf:compile: three sorts of work for a compiler.
// compile_peer.py has the same in PyTorch.
//
//   for (const Net& net : AllNets()) {
//     logits = net.make()->Run(at::randn(net.images));
//   }
//
// All take images [N, 3, H, W] to logits [N, kClasses].
#ifndef SLIPWAY_TESTS_PERF_NETS_H_
#define SLIPWAY_TESTS_PERF_NETS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/nn/module.h"

namespace slipway::perf {

inline constexpr int64_t kClasses = 100;

struct Net {
  std::string name;
  std::function<std::unique_ptr<nn::Module>()> make;
  std::vector<int64_t> images;  // a batch of the benchmark
};

// resnet18: convolutions; vit_tiny, twelve blocks of width 192 over patches of
// 16 pixels: matrix products; pointwise, six blocks: little but pointwise
// operations.
std::vector<Net> AllNets();

}  // namespace slipway::perf

#endif  // SLIPWAY_TESTS_PERF_NETS_H_
