#include "plugins/compile/compile.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/recipe/params.h"

namespace slipway::compile {
namespace {

constexpr char kMend[] =
    "bazel run //plugins/compile:setup makes what the compiler needs; "
    "plugins.compile.required=True ends a run that cannot compile";

Problem Note(std::string message, std::string detail) {
  return {.kind = "value",
          .severity = Severity::kNote,
          .message = std::move(message),
          .detail = std::move(detail),
          .plugins = {"compile"}};
}

// What a mode is on this device, where that is not what one would think.
std::optional<Problem> AboutMode(const std::string& mode, bool on_cpu) {
  if (!on_cpu) return std::nullopt;
  if (mode == "reduce-overhead") {
    return Note("torch_compile_mode reduce-overhead equals default here",
                "it saves launches of kernels by CUDA graphs: there are none "
                "on a CPU");
  }
  if (mode == "max-autotune" || mode == "max-autotune-no-cudagraphs") {
    return Note(
        absl::StrCat("torch_compile_mode ", mode, " changes little on a CPU"),
        "matrix products that are tried out need constant weights, "
        "which training does not have; compiling takes longer");
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> Compile::Create(
    const recipe::Node& config) {
  absl::StatusOr<Options> options = ReadOptions(config);
  if (!options.ok()) return options.status();
  return std::make_unique<Compile>(*std::move(options));
}

Compile::Compile(Options options)
    : options_(std::move(options)),
      train_setup_{.options = options_, .graph = "train", .candidate = ""},
      valid_setup_{.options = options_, .graph = "valid", .candidate = ""} {}

absl::Status Compile::Configure(ConfigureContext& context) {
  const std::optional<Problem> note =
      AboutMode(options_.mode, context.device().is_cpu());
  if (note) context.Report(*note);
  if (options_.loss) {
    context.Report(Note("torch_compile_loss compiles nothing yet",
                        "the loss runs eagerly, after the compiled model"));
  }
  return absl::OkStatus();
}

absl::Status Compile::WrapForward(WrapContext& context) {
  if (options_.disable) return absl::OkStatus();
  model_ = &context.model();
  context.Wrap([this](const auto& next, const Value& batch) {
    return RunTraining(next, batch);
  });
  return absl::OkStatus();
}

absl::Status Compile::FitBegin(FitContext& context) {
  if (options_.disable) return absl::OkStatus();
  peers_.emplace(context.world_size() > 1
                     ? dist::ProcessGroup::Find(dist::kWorldGroup)
                     : nullptr);
  train_setup_.peers = &*peers_;
  train_.emplace(*model_, train_setup_);
  valid_.emplace(*model_, valid_setup_);
  context.Report(Note(
      "the model is compiled from its first batch on",
      train_setup_.waits()
          ? "the first step waits for it: a minute or more, if it is not "
            "in the cache"
          : "training goes on meanwhile (plugins.compile.wait=True waits)"));
  return absl::OkStatus();
}

Value Compile::RunTraining(const nn::Module::ForwardFunction& next,
                           const Value& batch) {
  return train_ ? train_->Run(next, batch) : next(batch);
}

absl::Status Compile::EvalForward(EvalContext& context) {
  if (!valid_) return absl::OkStatus();
  const auto forward = [this](const Value& batch) {
    return model_->Run(batch);
  };
  context.prediction() = valid_->Run(forward, context.current_batch().input);
  return absl::OkStatus();
}

absl::Status Compile::StepEnd(StepContext& context) {
  return train_ ? Tell(context, *train_) : absl::OkStatus();
}

absl::Status Compile::EvalEnd(EvalContext& context) {
  return valid_ ? Tell(context, *valid_) : absl::OkStatus();
}

absl::Status Compile::FitEnd(FitContext& context) {
  if (!train_ || outcome_) return absl::OkStatus();
  Outcome unknown;
  unknown.graph = "train";
  unknown.reason = "the training ended before the compiler did";
  context.SetResult("compile", ToNode(unknown));
  return absl::OkStatus();
}

absl::Status Compile::Tell(Context& context, CompiledForward& forward) {
  for (Outcome& outcome : forward.TakeOutcomes()) {
    outcome.step = context.step();
    context.Tell(outcome.failed() ? "compile_fallback" : "compile_ready",
                 ToNode(outcome));
    const bool first = &forward == &*train_ && !outcome_;
    if (first) {
      outcome_ = outcome;
      context.SetResult("compile", ToNode(outcome));
    }
    const absl::Status status = Warn(context, outcome);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Compile::Warn(Context& context, const Outcome& outcome) {
  if (!outcome.failed()) {
    context.Report(Note(ToText(outcome), ""));
    return absl::OkStatus();
  }
  if (outcome.reason.empty()) return absl::OkStatus();  // as it was before
  if (options_.required) {
    return absl::FailedPreconditionError(
        absl::StrCat("the ", outcome.graph,
                     " graph could not be compiled: ", outcome.reason));
  }
  context.Report({.kind = "value",
                  .severity = Severity::kWarning,
                  .message = ToText(outcome),
                  .hint = kMend,
                  .plugins = {"compile"}});
  return absl::OkStatus();
}

absl::StatusOr<PluginState> Compile::SaveState() {
  PluginState state;
  state.values = recipe::Node::Map();
  if (!outcome_) return state;
  state.values.Set("candidate", recipe::Node::String(outcome_->candidate));
  state.values.Set("since_step", recipe::Node::Int(outcome_->step));
  return state;
}

absl::Status Compile::LoadState(int version, const PluginState& state) {
  Problems problems;
  recipe::Params params(state.values, "the saved state of compile", problems);
  train_setup_.candidate =
      params.Text("candidate", "", {"", "plain", "layout", "eager"});
  return ToStatus(problems);
}

}  // namespace slipway::compile

SLIPWAY_PLUGIN("compile", "0.1.0", slipway::compile::Compile);
