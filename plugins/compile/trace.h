// What a function does with tensors, recorded as a graph.
//
//   absl::StatusOr<GraphPointer> graph = Trace(inputs, [&](const auto& x) {
//     return std::vector<at::Tensor>{model.Run(x[0])};
//   });
//
// A trace follows one path and freezes it: a function that reads a tensor's
// value on the host, and could decide by it, is refused.
#ifndef SLIPWAY_PLUGINS_COMPILE_TRACE_H_
#define SLIPWAY_PLUGINS_COMPILE_TRACE_H_

#include <functional>
#include <memory>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"

namespace torch::jit {
struct Graph;
}

namespace slipway::compile {

using GraphPointer = std::shared_ptr<torch::jit::Graph>;
using TensorFunction =
    std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// Calls `function` once, without gradients; what it writes stays written. Of
// tensors that it holds itself those among `inputs` are the graph's, the others
// constants. The graph is canonical: equal for equal functions, in any process.
// FAILED_PRECONDITION for a function that reads values on the host. Throws what
// `function` throws.
absl::StatusOr<GraphPointer> Trace(const std::vector<at::Tensor>& inputs,
                                   const TensorFunction& function);

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_TRACE_H_
