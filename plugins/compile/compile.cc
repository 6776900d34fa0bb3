#include "plugins/compile/compile.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "plugins/compile/forward_and_loss.h"
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
      step_setup_{.options = options_, .scope = "step", .candidate = ""},
      train_setup_{.options = options_, .candidate = ""},
      valid_setup_{.options = options_, .graph = "valid", .candidate = ""} {}

absl::Status Compile::Configure(ConfigureContext& context) {
  const std::optional<Problem> note =
      AboutMode(options_.mode, context.device().is_cpu());
  if (note) context.Report(*note);
  return absl::OkStatus();
}

absl::Status Compile::WrapForward(WrapContext& context) {
  if (options_.disable) return absl::OkStatus();
  model_ = &context.model();
  const absl::Status status = ChooseScope(context);
  if (!status.ok()) return status;
  context.Wrap([this](const auto& next, const Value& batch) {
    return RunTraining(next, batch);
  });
  if (whole_step_ || with_loss_) {
    context.SetStep([this](WholeStepContext& step) { return RunStep(step); });
  }
  return absl::OkStatus();
}

absl::Status Compile::ChooseScope(WrapContext& context) {
  const std::string& blocker = context.StepBlocker();
  if (options_.scope == "step" && !blocker.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("plugins.compile.scope: step has no place for ", blocker,
                     "; \"model\" compiles forward and backward"));
  }
  whole_step_ = options_.scope != "model" && blocker.empty();
  if (options_.scope == "auto" && !whole_step_) {
    context.Report(Note("compile takes the model, not the whole step",
                        "which has no place for " + blocker));
  }
  with_loss_ = options_.loss && context.LossBlocker().empty();
  if (options_.loss && !with_loss_) {
    context.Report(Note("the loss is not compiled with the model",
                        "because of " + context.LossBlocker()));
  }
  return absl::OkStatus();
}

absl::Status Compile::FitBegin(FitContext& context) {
  if (options_.disable) return absl::OkStatus();
  peers_.emplace(context.world_size() > 1
                     ? dist::ProcessGroup::Find(dist::kWorldGroup)
                     : nullptr);
  train_setup_.peers = &*peers_;
  if (whole_step_) {
    step_.emplace(step_setup_);
  } else {
    train_.emplace(*model_, train_setup_);
  }
  valid_.emplace(*model_, valid_setup_);
  const bool waits = whole_step_ ? step_setup_.waits() : train_setup_.waits();
  context.Report(Note(
      absl::StrCat("the ", whole_step_ ? "whole step" : "model",
                   " is compiled from its first batch on"),
      waits ? "the first step waits for it: a minute or more, if it is not "
              "in the cache"
            : "training goes on meanwhile (plugins.compile.wait=True waits)"));
  return absl::OkStatus();
}

Value Compile::RunTraining(const nn::Module::ForwardFunction& next,
                           const Value& batch) {
  return train_ && !with_loss_ ? train_->Run(next, batch) : next(batch);
}

absl::Status Compile::RunStep(WholeStepContext& context) {
  if (step_) return step_->Run(context);
  if (!train_ || !with_loss_) return absl::OkStatus();
  const auto forward = [&context](const Value& batch) {
    return ForwardAndLoss(context, batch);
  };
  const Value output =
      train_->Run(forward, WithTarget(context.current_batch()));
  context.SetForward(PredictionOf(output), LossOf(output));
  return absl::OkStatus();
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
  if (step_) return TellTraining(context, step_->TakeOutcomes());
  return train_ ? TellTraining(context, train_->TakeOutcomes())
                : absl::OkStatus();
}

absl::Status Compile::EvalEnd(EvalContext& context) {
  if (!valid_) return absl::OkStatus();
  for (Outcome& outcome : valid_->TakeOutcomes()) {
    const absl::Status status = Tell(context, std::move(outcome));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Compile::FitEnd(FitContext& context) {
  if ((!train_ && !step_) || outcome_) return absl::OkStatus();
  Outcome unknown;
  unknown.graph = "train";
  unknown.scope = step_ ? "step" : "model";
  unknown.reason = "the training ended before the compiler did";
  context.SetResult("compile", ToNode(unknown));
  return absl::OkStatus();
}

absl::Status Compile::TellTraining(Context& context,
                                   std::vector<Outcome> outcomes) {
  for (Outcome& outcome : outcomes) {
    outcome.step = context.step();
    if (!outcome_) {
      // What no compiler takes as one may be compiled in part.
      if (step_ && outcome.unsuitable && options_.scope == "auto") {
        step_.reset();
        train_.emplace(*model_, train_setup_);
        context.Report(Note(ToText(outcome), "the model alone is compiled"));
        return absl::OkStatus();
      }
      // Taken up again, it goes on.
      if (outcome.candidate == saved_candidate_) outcome.step = saved_since_;
      outcome_ = outcome;
      context.SetResult("compile", ToNode(outcome));
    }
    const absl::Status status = Tell(context, std::move(outcome));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Compile::Tell(Context& context, Outcome outcome) {
  outcome.step = context.step();
  context.Tell(outcome.failed() ? "compile_fallback" : "compile_ready",
               ToNode(outcome));
  if (!outcome.failed()) {
    context.Report(Note(ToText(outcome), ""));
    return absl::OkStatus();
  }
  if (outcome.reason.empty()) return absl::OkStatus();  // as it was before
  if (options_.required) {
    return absl::FailedPreconditionError(
        absl::StrCat("the ",
                     outcome.scope == "step" ? std::string("whole step")
                                             : outcome.graph + " graph",
                     " could not be compiled: ", outcome.reason));
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
  state.values.Set("scope", recipe::Node::String(outcome_->scope));
  state.values.Set("since_step", recipe::Node::Int(outcome_->step));
  return state;
}

absl::Status Compile::LoadState(int version, const PluginState& state) {
  Problems problems;
  recipe::Params params(state.values, "the saved state of compile", problems);
  const std::string candidate =
      params.Text("candidate", "", {"", "plain", "layout", "eager"});
  const bool step = params.Text("scope", "model", {"model", "step"}) == "step";
  (step ? step_setup_ : train_setup_).candidate = candidate;
  saved_candidate_ = candidate;
  saved_since_ = params.Int("since_step", {.fallback = 0});
  return ToStatus(problems);
}

}  // namespace slipway::compile

SLIPWAY_PLUGIN("compile", "0.1.0", slipway::compile::Compile);
