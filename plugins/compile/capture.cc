#include "plugins/compile/capture.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "ATen/core/grad_mode.h"
#include "ATen/record_function.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "plugins/compile/preserve.h"
#include "torch/csrc/jit/api/module.h"
#include "torch/csrc/jit/frontend/tracer.h"
#include "torch/csrc/jit/ir/ir.h"
#include "torch/csrc/jit/passes/canonicalize.h"
#include "torch/csrc/jit/passes/dead_code_elimination.h"
#include "trainer/checkpoint/dtype_names.h"
#include "trainer/plan/sha256.h"
#include "trainer/plugin/exception.h"

namespace slipway::compile {
namespace {

namespace jit = torch::jit;
using nlohmann::ordered_json;

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

bool IsReduced(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 ||
         tensor.scalar_type() == at::kHalf;
}

bool HasReduced(const jit::Graph& graph) {
  for (const jit::Node* node : graph.nodes()) {
    for (const jit::Value* output : node->outputs()) {
      const auto type = output->type()->cast<c10::TensorType>();
      if (type == nullptr || !type->scalarType()) continue;
      if (*type->scalarType() == at::kBFloat16 ||
          *type->scalarType() == at::kHalf) {
        return true;
      }
    }
  }
  return false;
}

// Runs forward under the tracer.
std::shared_ptr<jit::Graph> Trace(const nn::Module::ForwardFunction& forward,
                                  const Inputs& inputs, const Value& batch,
                                  Value& output) {
  const auto traced = [&](jit::Stack stack) {
    const size_t first = inputs.state_size();
    std::vector<at::Tensor> tensors;
    for (size_t i = first; i < stack.size(); ++i) {
      tensors.push_back(stack[i].toTensor());
    }
    output = forward(batch.Unflatten(tensors));
    return ToStack(output.Flatten());
  };
  const at::NoGradGuard no_gradients;
  auto [state, outputs] = jit::tracer::trace(
      ToStack(inputs.tensors()), traced, [](const at::Tensor&) { return ""; },
      /*strict=*/true, /*force_outplace=*/false);
  jit::EliminateDeadCode(state->graph->block());
  return jit::Canonicalize(state->graph, /*keep_unique_names=*/false);
}

std::string HashOf(const Capture& capture) {
  std::ostringstream text;
  capture.graph->print(text, /*print_source_locations=*/false);
  for (const TensorType& type : capture.types) {
    text << at::IntArrayRef(type.sizes) << at::IntArrayRef(type.strides)
         << type.dtype << type.device << type.requires_grad << "\n";
  }
  return plan::Sha256(text.str());
}

absl::Status Check(const Value& output, int host_reads) {
  if (host_reads > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the model reads ", host_reads,
        " tensor value(s) on the host (item(), nonzero(), equal()): a graph "
        "would freeze what it decides by them"));
  }
  if (output.Flatten().empty()) {
    return absl::FailedPreconditionError("the model returns no tensor");
  }
  return absl::OkStatus();
}

ordered_json Describe(const Capture& capture, const CaptureOptions& options) {
  ordered_json inputs = ordered_json::array();
  for (size_t i = 0; i < capture.types.size(); ++i) {
    const TensorType& type = capture.types[i];
    inputs.push_back({{"name", capture.names[i]},
                      {"size", type.sizes},
                      {"stride", type.strides},
                      {"dtype", DtypeNameOf(type.dtype)},
                      {"device", type.device.str()},
                      {"requires_grad", type.requires_grad}});
  }
  return {{"schema", 1},
          {"parameters", capture.parameters},
          {"buffers", capture.buffers},
          {"data", capture.types.size() - capture.parameters - capture.buffers},
          {"differentiate", options.differentiate},
          {"dynamic", options.dynamic_batch},
          {"inputs", inputs}};
}

// A method returns one value.
void ReturnTuple(jit::Graph& graph) {
  jit::Node* const tuple = graph.appendNode(graph.createTuple(graph.outputs()));
  while (!graph.outputs().empty()) graph.eraseOutput(0);
  graph.registerOutput(tuple->output());
}

// A module with one method, as torch.jit.load expects it.
void SaveGraph(jit::Graph& graph, const std::string& path) {
  jit::Module module("__torch__.slipway.Captured");
  std::shared_ptr<jit::Graph> method = graph.copy();
  if (method->outputs().size() > 1) ReturnTuple(*method);
  method->insertInput(0, "self")->setType(module.type());
  jit::Function* const function =
      module._ivalue()->compilation_unit()->create_function(
          c10::QualifiedName(*module.type()->name(), "forward"), method);
  module.type()->addMethod(function);
  module.save(path);
}

}  // namespace

absl::StatusOr<Capture> CaptureForward(
    const nn::Module::ForwardFunction& forward, const Inputs& inputs,
    const Value& batch) {
  return Guarded([&]() -> absl::StatusOr<Capture> {
    const Preserve preserve(inputs.buffers());
    const HostReads reads;
    Capture capture;
    capture.graph = Trace(forward, inputs, batch, capture.output);
    const absl::Status status = Check(capture.output, reads.count());
    if (!status.ok()) return status;
    capture.names = inputs.names();
    capture.types = TypesOf(inputs.tensors());
    capture.parameters = inputs.parameter_count();
    capture.buffers = inputs.buffer_count();
    capture.reduced_precision = HasReduced(*capture.graph);
    for (const at::Tensor& tensor : inputs.tensors()) {
      capture.reduced_precision |= IsReduced(tensor);
    }
    capture.hash = HashOf(capture);
    return capture;
  });
}

absl::Status WriteCapture(const Capture& capture, const CaptureOptions& options,
                          const std::string& folder) {
  return Guarded([&]() -> absl::Status {
    SaveGraph(*capture.graph, folder + "/graph.pt");
    std::ofstream json(folder + "/graph.json");
    json << Describe(capture, options).dump(2) << "\n";
    json.close();
    return json ? absl::OkStatus()
                : absl::UnavailableError(
                      absl::StrCat("cannot write ", folder, "/graph.json"));
  });
}

}  // namespace slipway::compile
