// A model's forward as a graph that a compiler can take.
//
//   absl::StatusOr<Capture> capture = CaptureForward(
//       [&](const Value& x) { return model.Run(x); }, inputs, images);
//   if (capture.ok()) status = WriteCapture(*capture, folder);
//
// The forward runs once under LibTorch's tracer, with parameters, buffers and
// batch as the graph's inputs, without gradients: the compiler differentiates.
// What autocast would do is in the graph as casts. A whole step is captured as
// two graphs, forward with loss and the update; the compiler joins them.
#ifndef SLIPWAY_PLUGINS_COMPILE_CAPTURE_H_
#define SLIPWAY_PLUGINS_COMPILE_CAPTURE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plugins/compile/inputs.h"
#include "plugins/compile/trace.h"
#include "trainer/nn/module.h"
#include "trainer/nn/value.h"
#include "trainer/plugin/whole_step.h"

namespace slipway::compile {

// What follows forward in a whole step.
struct CapturedUpdate {
  // Its inputs are the graph's, then the gradients of `differentiated`; null:
  // this is no whole step.
  GraphPointer graph;
  std::vector<int64_t> differentiated;  // positions among the inputs
  std::vector<int64_t> updated;         // what it writes, likewise
  StepGuard guard = StepGuard::kNone;
};

struct Capture {
  GraphPointer graph;
  CapturedUpdate update;
  std::vector<std::string> names;  // of the inputs
  std::vector<TensorType> types;   // parallel
  size_t parameters = 0;
  size_t buffers = 0;
  size_t state = 0;  // all but the batch
  // The structure of what forward returns; its tensors are of no use.
  Value output;
  // Reduced precision somewhere in the graph, where less can be asked of it.
  bool reduced_precision = false;
  // SHA-256 of the graphs and of their inputs' types: equal for equal graphs,
  // in any process.
  std::string hash;
};

// Calls `forward` once, on `batch`, whose tensors are the last ones of
// `inputs`. The model's buffers and the random generators are afterwards what
// they were. FAILED_PRECONDITION for a forward that reads values on the host,
// or whose output does not depend on its input. Nothing is thrown.
absl::StatusOr<Capture> CaptureForward(
    const nn::Module::ForwardFunction& forward, const Inputs& inputs,
    const Value& batch);

// A step in its parts.
struct StepFunctions {
  // Of a batch; the first tensor of what it returns is the loss, of which alone
  // gradients are wanted.
  nn::Module::ForwardFunction forward;
  // Updates parameters and other tensors, with the gradients in `grad()`.
  std::function<void(const std::vector<at::Tensor>& numbers)> update;
  StepGuard guard = StepGuard::kLoss;
};

// Calls each once, and `forward` a second time for its gradients. `inputs` are
// a step's; all that they write is afterwards what it was. Errors as above.
absl::StatusOr<Capture> CaptureStep(const StepFunctions& step,
                                    const Inputs& inputs, const Value& batch);

struct CaptureOptions {
  bool differentiate = true;  // false: for evaluation
  bool dynamic_batch = true;  // the batch's size may vary
};

// Writes graph.pt (TorchScript: one method, `forward`), update.pt for a whole
// step, and graph.json into an existing folder; compiler/compile_graph.py reads
// them.
absl::Status WriteCapture(const Capture& capture, const CaptureOptions& options,
                          const std::string& folder);

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_CAPTURE_H_
