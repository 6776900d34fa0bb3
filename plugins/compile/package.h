// Compiled code of a forward and of its backward, as one differentiable
// function. No Python takes part.
//
//   absl::StatusOr<std::unique_ptr<Package>> package = Package::Load(folder);
//   std::vector<at::Tensor> outputs = (*package)->Run(inputs.tensors());
//   Loss(outputs[0]).backward();
//
// The folder is compiler/compile_graph.py's: forward, backward and
// package.json. Code checks nothing: the caller makes sure that inputs are of
// the types that it was compiled for (inputs.h), and that it was compiled for
// this processor and this LibTorch (Load looks at the latter).
#ifndef SLIPWAY_PLUGINS_COMPILE_PACKAGE_H_
#define SLIPWAY_PLUGINS_COMPILE_PACKAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "plugins/compile/inputs.h"

namespace slipway::compile {

// What package.json says.
struct PackageFacts {
  int64_t outputs = 0;
  // Of backward's inputs before the outputs' gradients: one of the graph's
  // inputs, or -1 - i for what forward returns as number i.
  std::vector<int64_t> saved;
  // The graph's input of which backward returns the gradient, by position.
  std::vector<int64_t> gradients;
  bool differentiable = false;
  // What backward takes after those: for each, the output of which it is the
  // gradient, and how that lies in memory.
  std::vector<std::pair<int64_t, at::MemoryFormat>> output_gradients;
  // The batch may have other sizes than the captured one.
  std::optional<BatchSizes> batch_sizes;
  int64_t nodes = 0;  // operations in both graphs
};

struct PackageOptions {
  bool cuda_graphs = false;  // see replay.h
};

class Package {
 public:
  // NOT_FOUND, DATA_LOSS or FAILED_PRECONDITION for a folder that is not a
  // package, is damaged, or is another LibTorch's.
  static absl::StatusOr<std::unique_ptr<Package>> Load(
      const std::string& folder, const PackageOptions& options = {});
  ~Package();
  Package(const Package&) = delete;
  Package& operator=(const Package&) = delete;

  const PackageFacts& facts() const { return facts_; }

  // The forward's outputs, flat. They have a history where gradients are
  // enabled and something needs one. Buffers among the inputs are updated as
  // the graph says. A backward pass works once, or more often with
  // retain_graph, as any. Must outlive the backward pass. Throws c10::Error.
  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs) const;

 private:
  struct Code;
  class Function;
  Package(PackageFacts facts, std::unique_ptr<Code> code);

  PackageFacts facts_;
  std::unique_ptr<Code> code_;
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_PACKAGE_H_
