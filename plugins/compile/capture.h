// A model's forward as a graph that a compiler can take.
//
//   absl::StatusOr<Capture> capture = CaptureForward(
//       [&](const Value& x) { return model.Run(x); }, inputs, images);
//   if (capture.ok()) status = WriteCapture(*capture, folder);
//
// The forward runs once under LibTorch's tracer, with parameters, buffers and
// batch as the graph's inputs, without gradients: the compiler differentiates.
// What autocast would do is in the graph as casts. A trace follows one path and
// freezes it, so a forward that reads a tensor's value on the host is refused.
#ifndef SLIPWAY_PLUGINS_COMPILE_CAPTURE_H_
#define SLIPWAY_PLUGINS_COMPILE_CAPTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plugins/compile/inputs.h"
#include "trainer/nn/module.h"
#include "trainer/nn/value.h"

namespace torch::jit {
struct Graph;
}

namespace slipway::compile {

struct Capture {
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<std::string> names;  // of the inputs
  std::vector<TensorType> types;   // parallel
  size_t parameters = 0;
  size_t buffers = 0;
  // The structure of what forward returns; its tensors are of no use.
  Value output;
  // Reduced precision somewhere in the graph, where less can be asked of it.
  bool reduced_precision = false;
  // SHA-256 of the graph and of its inputs' types: equal for equal graphs, in
  // any process.
  std::string hash;
};

// Calls `forward` once, on `batch`, whose tensors are the last ones of
// `inputs`. The model's buffers and the random generators are afterwards what
// they were. FAILED_PRECONDITION for a forward that reads values on the host,
// or whose output does not depend on its input. Nothing is thrown.
absl::StatusOr<Capture> CaptureForward(
    const nn::Module::ForwardFunction& forward, const Inputs& inputs,
    const Value& batch);

struct CaptureOptions {
  bool differentiate = true;  // false: for evaluation
  bool dynamic_batch = true;  // the batch's size may vary
};

// Writes graph.pt (TorchScript: one method, `forward`) and graph.json into an
// existing folder; compiler/compile_graph.py reads them.
absl::Status WriteCapture(const Capture& capture, const CaptureOptions& options,
                          const std::string& folder);

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_CAPTURE_H_
