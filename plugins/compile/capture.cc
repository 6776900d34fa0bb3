#include "plugins/compile/capture.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "ATen/core/grad_mode.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "plugins/compile/no_autocast.h"
#include "plugins/compile/preserve.h"
#include "torch/csrc/autograd/autograd.h"
#include "torch/csrc/jit/api/module.h"
#include "torch/csrc/jit/ir/ir.h"
#include "trainer/checkpoint/dtype_names.h"
#include "trainer/plan/sha256.h"
#include "trainer/plugin/exception.h"

namespace slipway::compile {
namespace {

namespace jit = torch::jit;
using at::Tensor;
using nlohmann::ordered_json;

bool IsReduced(const Tensor& tensor) {
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
absl::StatusOr<GraphPointer> TraceForward(
    const nn::Module::ForwardFunction& forward, const Inputs& inputs,
    const Value& batch, Value& output) {
  return Trace(inputs.tensors(), [&](const std::vector<Tensor>& tensors) {
    output = forward(inputs.BatchIn(tensors, batch));
    return output.Flatten();
  });
}

// The loss's gradients, undefined for parameters that it does not depend on.
std::vector<Tensor> GradientsOf(const StepFunctions& step,
                                const std::vector<Tensor>& parameters,
                                const Value& batch) {
  const at::AutoGradMode with_gradients(true);
  const Tensor loss = step.forward(batch).Flatten().at(0);
  const NoAutocast no_autocast;
  return torch::autograd::grad({loss}, parameters, /*grad_outputs=*/{},
                               /*retain_graph=*/std::nullopt,
                               /*create_graph=*/false, /*allow_unused=*/true);
}

// Finds which parameters have gradients, and what those are on this batch.
std::vector<Tensor> Differentiate(const StepFunctions& step,
                                  const Inputs& inputs, const Value& batch,
                                  CapturedUpdate& update) {
  std::vector<Tensor> parameters;
  std::vector<int64_t> positions;
  for (size_t i = 0; i < inputs.parameter_count(); ++i) {
    if (!inputs.tensors()[i].requires_grad()) continue;
    parameters.push_back(inputs.tensors()[i]);
    positions.push_back(static_cast<int64_t>(i));
  }
  const std::vector<Tensor> all = GradientsOf(step, parameters, batch);
  std::vector<Tensor> gradients;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].defined()) continue;
    gradients.push_back(all[i]);
    update.differentiated.push_back(positions[i]);
  }
  return gradients;
}

// Runs the update under the tracer, with the gradients as further inputs.
absl::StatusOr<GraphPointer> TraceUpdate(const StepFunctions& step,
                                         const Inputs& inputs,
                                         const std::vector<Tensor>& gradients,
                                         const CapturedUpdate& update) {
  std::vector<Tensor> all = inputs.tensors();
  all.insert(all.end(), gradients.begin(), gradients.end());
  const size_t first = inputs.tensors().size();
  const NoAutocast no_autocast;
  return Trace(all, [&](const std::vector<Tensor>& tensors) {
    for (size_t i = 0; i < update.differentiated.size(); ++i) {
      Tensor parameter = tensors[update.differentiated[i]];
      parameter.mutable_grad() = tensors[first + i];
    }
    const Tensor& numbers = tensors[inputs.state_size() - 1];
    std::vector<Tensor> scalars;
    for (int64_t i = 0; i < numbers.size(0); ++i) {
      scalars.push_back(numbers.select(0, i));
    }
    step.update(scalars);
    for (const int64_t i : update.differentiated) {
      Tensor parameter = tensors[i];
      parameter.mutable_grad() = Tensor();
    }
    return std::vector<Tensor>{numbers};
  });
}

// What the update may write: parameters with a gradient, and all that is
// neither a model's tensor nor the numbers.
void ListUpdated(const Inputs& inputs, CapturedUpdate& update) {
  update.updated = update.differentiated;
  const size_t first = inputs.parameter_count() + inputs.buffer_count();
  for (size_t i = first; i + 1 < inputs.state_size(); ++i) {
    update.updated.push_back(static_cast<int64_t>(i));
  }
}

std::string HashOf(const Capture& capture) {
  std::ostringstream text;
  capture.graph->print(text, /*print_source_locations=*/false);
  if (capture.update.graph != nullptr) {
    capture.update.graph->print(text, /*print_source_locations=*/false);
    text << at::IntArrayRef(capture.update.differentiated)
         << static_cast<int>(capture.update.guard);
  }
  for (const TensorType& type : capture.types) {
    text << at::IntArrayRef(type.sizes) << at::IntArrayRef(type.strides)
         << type.dtype << type.device << type.requires_grad << "\n";
  }
  return plan::Sha256(text.str());
}

const char* NameOf(StepGuard guard) {
  switch (guard) {
    case StepGuard::kNone:
      return "none";
    case StepGuard::kLoss:
      return "loss";
    case StepGuard::kGradients:
      break;
  }
  return "gradients";
}

// Fills in what the graphs and the inputs tell.
absl::Status Describe(const Inputs& inputs, Capture& capture) {
  if (capture.output.Flatten().empty()) {
    return absl::FailedPreconditionError("the model returns no tensor");
  }
  capture.names = inputs.names();
  capture.types = TypesOf(inputs.tensors());
  capture.parameters = inputs.parameter_count();
  capture.buffers = inputs.buffer_count();
  capture.state = inputs.state_size();
  capture.reduced_precision = HasReduced(*capture.graph);
  for (const Tensor& tensor : inputs.tensors()) {
    capture.reduced_precision |= IsReduced(tensor);
  }
  capture.hash = HashOf(capture);
  return absl::OkStatus();
}

ordered_json ToJson(const Capture& capture, const CaptureOptions& options) {
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
  ordered_json json = {{"schema", 1},
                       {"parameters", capture.parameters},
                       {"buffers", capture.buffers},
                       {"state", capture.state},
                       {"differentiate", options.differentiate},
                       {"dynamic", options.dynamic_batch},
                       {"inputs", inputs}};
  if (capture.update.graph != nullptr) {
    json["update"] = {{"differentiated", capture.update.differentiated},
                      {"updated", capture.update.updated},
                      {"guard", NameOf(capture.update.guard)}};
  }
  return json;
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
    const Preserve preserve(inputs.written());
    const NoAutocastCache every_cast_anew;
    Capture capture;
    absl::StatusOr<GraphPointer> graph =
        TraceForward(forward, inputs, batch, capture.output);
    if (!graph.ok()) return graph.status();
    capture.graph = *std::move(graph);
    const absl::Status status = Describe(inputs, capture);
    if (!status.ok()) return status;
    return capture;
  });
}

absl::StatusOr<Capture> CaptureStep(const StepFunctions& step,
                                    const Inputs& inputs, const Value& batch) {
  return Guarded([&]() -> absl::StatusOr<Capture> {
    const Preserve preserve(inputs.written());
    const NoAutocastCache every_cast_anew;
    Capture capture;
    capture.update.guard = step.guard;
    const std::vector<Tensor> gradients =
        Differentiate(step, inputs, batch, capture.update);
    ListUpdated(inputs, capture.update);
    absl::StatusOr<GraphPointer> graph =
        TraceForward(step.forward, inputs, batch, capture.output);
    if (!graph.ok()) return graph.status();
    capture.graph = *std::move(graph);
    graph = TraceUpdate(step, inputs, gradients, capture.update);
    if (!graph.ok()) return graph.status();
    capture.update.graph = *std::move(graph);
    const absl::Status status = Describe(inputs, capture);
    if (!status.ok()) return status;
    return capture;
  });
}

absl::Status WriteCapture(const Capture& capture, const CaptureOptions& options,
                          const std::string& folder) {
  return Guarded([&]() -> absl::Status {
    SaveGraph(*capture.graph, folder + "/graph.pt");
    if (capture.update.graph != nullptr) {
      SaveGraph(*capture.update.graph, folder + "/update.pt");
    }
    std::ofstream json(folder + "/graph.json");
    json << ToJson(capture, options).dump(2) << "\n";
    json.close();
    return json ? absl::OkStatus()
                : absl::UnavailableError(
                      absl::StrCat("cannot write ", folder, "/graph.json"));
  });
}

}  // namespace slipway::compile
