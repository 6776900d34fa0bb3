#include "plugins/compile/package.h"

#include <fstream>
#include <limits>
#include <optional>
#include <utility>

#include "ATen/core/grad_mode.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "plugins/compile/no_autocast.h"
#include "plugins/compile/replay.h"
#include "torch/csrc/autograd/custom_function.h"
#include "torch/csrc/autograd/graph_task.h"
#include "torch/csrc/inductor/aoti_package/model_package_loader.h"
#include "trainer/plugin/exception.h"

namespace slipway::compile {
namespace {

using at::Tensor;
using nlohmann::json;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using torch::inductor::AOTIModelPackageLoader;

constexpr int64_t kAnySize = std::numeric_limits<int64_t>::max();

at::MemoryFormat FormatOf(const std::string& name) {
  if (name == "channels_last") return at::MemoryFormat::ChannelsLast;
  if (name == "channels_last_3d") return at::MemoryFormat::ChannelsLast3d;
  return at::MemoryFormat::Contiguous;
}

int64_t OrIfNull(const json& value, int64_t fallback) {
  return value.is_null() ? fallback : value.get<int64_t>();
}

absl::StatusOr<PackageFacts> ReadFacts(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("there is no ", path));
  const json document = json::parse(file, nullptr, /*allow_exceptions=*/false);
  PackageFacts facts;
  try {
    facts.outputs = document.at("outputs");
    facts.saved = document.at("saved").get<std::vector<int64_t>>();
    facts.gradients = document.at("gradients").get<std::vector<int64_t>>();
    facts.differentiable = !facts.gradients.empty();
    for (const json& tangent : document.at("tangents")) {
      facts.output_gradients.emplace_back(
          tangent.at("output"), FormatOf(tangent.at("memory_format")));
    }
    if (document.at("dynamic_batch").get<bool>()) {
      facts.batch_sizes = {OrIfNull(document.at("batch_min"), 2),
                           OrIfNull(document.at("batch_max"), kAnySize)};
    }
    for (const json& nodes : document.at("nodes")) {
      facts.nodes += nodes.get<int64_t>();
    }
  } catch (const json::exception& error) {
    return absl::DataLossError(
        absl::StrCat(path, " is damaged: ", error.what()));
  }
  return facts;
}

constexpr char kAdvice[] =
    "in compiled code; if memory ran out: a smaller batch_size (up to half), "
    "or torch_compile_mode: default; if the device failed: "
    "CUDA_LAUNCH_BLOCKING=1 names the kernel";

std::vector<Tensor> Call(AOTIModelPackageLoader& code,
                         std::vector<Tensor> inputs) {
  const NoAutocast no_autocast;
  const at::NoGradGuard no_gradients;
  try {
    return code.boxed_run(std::move(inputs));
  } catch (c10::Error& error) {
    error.add_context(kAdvice);
    throw;
  }
}

}  // namespace

// One of the two, as a function.
class Part {
 public:
  // `returned`: how many of its outputs outlive the next run.
  Part(const std::string& folder, const PackageOptions& options,
       size_t returned)
      : loader_(folder, "model", /*run_single_threaded=*/options.cuda_graphs) {
    if (!options.cuda_graphs) return;
    replay_.emplace(
        [this](std::vector<Tensor> inputs) {
          return Call(loader_, std::move(inputs));
        },
        returned);
  }

  std::vector<Tensor> Run(std::vector<Tensor> inputs) {
    return replay_ ? replay_->Run(std::move(inputs))
                   : Call(loader_, std::move(inputs));
  }

 private:
  AOTIModelPackageLoader loader_;
  std::optional<Replay> replay_;
};

struct Package::Code {
  std::unique_ptr<Part> forward;
  std::unique_ptr<Part> backward;
};

// What forward keeps for backward beside the graph's inputs. Autograd need not
// know of it: nobody else holds these tensors.
struct Activations : torch::CustomClassHolder {
  std::vector<Tensor> tensors;
};

class Package::Function : public torch::autograd::Function<Function> {
 public:
  static variable_list forward(AutogradContext* context, const Package* package,
                               at::TensorList inputs) {
    const PackageFacts& facts = package->facts_;
    std::vector<Tensor> all = package->code_->forward->Run(inputs.vec());
    auto activations = c10::make_intrusive<Activations>();
    // Inputs are saved by autograd, which tells if they change meanwhile.
    variable_list saved_inputs;
    for (const int64_t from : facts.saved) {
      if (from >= 0) {
        saved_inputs.push_back(inputs[from]);
      } else {
        activations->tensors.push_back(all[-1 - from]);
      }
    }
    context->mark_non_differentiable(WithoutGradient(facts, all));
    context->save_for_backward(std::move(saved_inputs));
    context->saved_data["activations"] =
        c10::IValue::make_capsule(std::move(activations));
    context->saved_data["package"] = reinterpret_cast<int64_t>(package);
    context->saved_data["inputs"] = static_cast<int64_t>(inputs.size());
    all.resize(facts.outputs);
    return all;
  }

  static variable_list backward(AutogradContext* context,
                                variable_list output_gradients) {
    const Package* const package = reinterpret_cast<const Package*>(
        context->saved_data["package"].toInt());
    std::vector<Tensor> inputs = Saved(*package, *context);
    for (const auto& [output, format] : package->facts_.output_gradients) {
      inputs.push_back(output_gradients[output].contiguous(format));
    }
    const std::vector<Tensor> results =
        package->code_->backward->Run(std::move(inputs));
    // The first argument was the package.
    variable_list gradients(1 + context->saved_data["inputs"].toInt());
    for (size_t i = 0; i < results.size(); ++i) {
      gradients[1 + package->facts_.gradients[i]] = results[i];
    }
    return gradients;
  }

 private:
  // The model's outputs that take no gradient.
  static variable_list WithoutGradient(const PackageFacts& facts,
                                       const std::vector<Tensor>& outputs) {
    std::vector<bool> takes(facts.outputs, false);
    for (const auto& [output, format] : facts.output_gradients) {
      takes[output] = true;
    }
    variable_list without;
    for (int64_t i = 0; i < facts.outputs; ++i) {
      if (!takes[i]) without.push_back(outputs[i]);
    }
    return without;
  }

  // In backward's order. Unless it may be called again, activations are given
  // away, and so freed as backward goes.
  static std::vector<Tensor> Saved(const Package& package,
                                   AutogradContext& context) {
    const variable_list inputs = context.get_saved_variables();
    const auto activations = c10::static_intrusive_pointer_cast<Activations>(
        context.saved_data["activations"].toCapsule());
    std::vector<Tensor> kept;
    if (torch::autograd::get_current_graph_task_keep_graph()) {
      kept = activations->tensors;
    } else {
      kept = std::exchange(activations->tensors, {});
    }
    TORCH_CHECK(inputs.size() + kept.size() == package.facts_.saved.size(),
                "backward through a compiled graph a second time: the first "
                "one needs retain_graph");
    std::vector<Tensor> saved;
    size_t input = 0;
    size_t activation = 0;
    for (const int64_t from : package.facts_.saved) {
      saved.push_back(from >= 0 ? inputs[input++]
                                : std::move(kept[activation++]));
    }
    return saved;
  }
};

Package::Package(PackageFacts facts, std::unique_ptr<Code> code)
    : facts_(std::move(facts)), code_(std::move(code)) {}

Package::~Package() = default;

absl::StatusOr<std::unique_ptr<Package>> Package::Load(
    const std::string& folder, const PackageOptions& options) {
  absl::StatusOr<PackageFacts> facts = ReadFacts(folder + "/package.json");
  if (!facts.ok()) return facts.status();
  return Guarded([&]() -> absl::StatusOr<std::unique_ptr<Package>> {
    auto code = std::make_unique<Code>();
    code->forward =
        std::make_unique<Part>(folder + "/forward", options, facts->outputs);
    if (facts->differentiable) {
      code->backward = std::make_unique<Part>(folder + "/backward", options,
                                              facts->gradients.size());
    }
    return std::unique_ptr<Package>(
        new Package(*std::move(facts), std::move(code)));
  });
}

std::vector<Tensor> Package::Run(const std::vector<Tensor>& inputs) const {
  if (facts_.differentiable && at::GradMode::is_enabled()) {
    return Function::apply(this, at::TensorList(inputs));
  }
  std::vector<Tensor> outputs = code_->forward->Run(inputs);
  outputs.resize(facts_.outputs);
  return outputs;
}

}  // namespace slipway::compile
