#include "plugins/compile/trace.h"

#include <string_view>

#include "ATen/core/grad_mode.h"
#include "ATen/record_function.h"
#include "absl/strings/str_cat.h"
#include "torch/csrc/jit/frontend/tracer.h"
#include "torch/csrc/jit/ir/ir.h"
#include "torch/csrc/jit/passes/canonicalize.h"
#include "torch/csrc/jit/passes/dead_code_elimination.h"

namespace slipway::compile {
namespace {

namespace jit = torch::jit;

// Counts, in this thread, operations whose result a host program could branch
// on. The C++ tracer records none of that, and warns of nothing.
class HostReads {
 public:
  HostReads() {
    count_ = 0;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&Look).scopes({at::RecordScope::FUNCTION}));
  }
  ~HostReads() { at::removeCallback(handle_); }
  int count() const { return count_; }

 private:
  static std::unique_ptr<at::ObserverContext> Look(
      const at::RecordFunction& function) {
    const std::string_view name = function.name();
    count_ += name == "aten::_local_scalar_dense" || name == "aten::nonzero" ||
              name == "aten::equal" || name == "aten::is_nonzero";
    return nullptr;
  }

  static thread_local int count_;
  at::CallbackHandle handle_;
};

thread_local int HostReads::count_ = 0;

jit::Stack ToStack(const std::vector<at::Tensor>& tensors) {
  jit::Stack stack;
  for (const at::Tensor& tensor : tensors) stack.emplace_back(tensor);
  return stack;
}

std::vector<at::Tensor> ToTensors(const jit::Stack& stack) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : stack) tensors.push_back(value.toTensor());
  return tensors;
}

}  // namespace

absl::StatusOr<GraphPointer> Trace(const std::vector<at::Tensor>& inputs,
                                   const TensorFunction& function) {
  const HostReads reads;
  const at::NoGradGuard no_gradients;
  const auto traced = [&function](const jit::Stack& stack) {
    return ToStack(function(ToTensors(stack)));
  };
  auto [state, outputs] = jit::tracer::trace(
      ToStack(inputs), traced, [](const at::Tensor&) { return ""; },
      /*strict=*/true, /*force_outplace=*/false);
  if (reads.count() > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the model or its loss reads ", reads.count(),
        " tensor value(s) on the host (item(), nonzero(), equal()): a graph "
        "would freeze what it decides by them"));
  }
  jit::EliminateDeadCode(state->graph->block());
  return jit::Canonicalize(state->graph, /*keep_unique_names=*/false);
}

}  // namespace slipway::compile
