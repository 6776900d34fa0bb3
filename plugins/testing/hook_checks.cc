// The checks of which hooks a plugin has, and of what it does in them.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "plugins/testing/check.h"
#include "plugins/testing/forked.h"
#include "trainer/loop/state_hash.h"

namespace slipway::testing {
namespace {

// Whether the object's class has another function than Plugin itself in its
// table: GNU's way from a method to the function that would be called.
template <typename Method>
bool Overrides(Plugin& plugin, Method method) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpmf-conversions"
  using Function = void (*)();
  static Plugin& base = *new Plugin;
  return (Function)(plugin.*method) != (Function)(base.*method);
#pragma GCC diagnostic pop
#else
  return false;
#endif
}

template <size_t... i>
std::vector<std::string> OverriddenHooks(Plugin& plugin,
                                         std::index_sequence<i...>) {
  std::vector<std::string> hooks;
  const auto add = [&](Hook hook, auto method) {
    if (Overrides(plugin, method)) {
      hooks.push_back(std::string(ToString(hook)));
    }
  };
  (add(static_cast<Hook>(i), std::get<i>(kHookMethods)), ...);
  return hooks;
}

bool Contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// They are called whether they are declared or not.
bool IsAlwaysCalled(const std::string& hook) {
  return hook == "OnFailure" || hook == "Close";
}

// Fails at one hook, as a plugin does that throws.
class FailingAt : public Watcher {
 public:
  explicit FailingAt(Hook hook) : hook_(hook) {}
  void Before(Hook hook, const Seen&) override {
    if (hook == hook_) throw std::runtime_error("the neighbour fails");
  }

 private:
  Hook hook_;
};

// Counts what begins and what returns.
class Counting : public Watcher {
 public:
  void Before(Hook hook, const Seen&) override { ++begun[hook]; }
  void After(Hook hook, const Seen&) override { ++ended[hook]; }
  std::map<Hook, int> begun, ended;
};

absl::Status CheckEnd(Counting& calls, bool in_training) {
  if (calls.begun[Hook::kClose] != 1) {
    return Found(
        absl::StrCat("Close is called ", calls.begun[Hook::kClose], " times"));
  }
  if (calls.ended[Hook::kClose] != 1) return Found("Close throws");
  if (calls.begun[Hook::kOnFailure] != calls.ended[Hook::kOnFailure]) {
    return Found("OnFailure throws");
  }
  if (in_training && calls.begun[Hook::kOnFailure] != 1) {
    return Found(absl::StrCat("OnFailure is called ",
                              calls.begun[Hook::kOnFailure], " times"));
  }
  return absl::OkStatus();
}

absl::Status SurviveFailureAt(const Subject& subject, Hook hook) {
  Counting calls;
  FailingAt failing(hook);
  std::string message;
  bool in_training = false;
  {
    HarnessOptions options = Training(subject);
    options.run_dir = subject.scratch;
    options.watcher = &calls;
    options.neighbour.reset(Spy(failing).release());
    auto harness = PluginHarness::Create(std::move(options));
    if (harness.ok()) {
      const loop::RunResult result = (*harness)->Train();
      in_training = true;
      if (result.exit_code == 0) message = "the training went on";
      if (result.error) message = FormatProblem(*result.error);
    } else {
      message = std::string(harness.status().message());
    }
  }
  if (!absl::StrContains(message, "the neighbour fails")) {
    return Found(absl::StrCat("the neighbour's error is lost: ", message));
  }
  return CheckEnd(calls, in_training);
}

// Sees in each hook whether what is read-only there stays as it is.
class PhaseGuard : public Watcher {
 public:
  void Before(Hook, const Seen& seen) override {
    if (model != nullptr) before_ = Look(seen);
  }
  void After(Hook hook, const Seen& seen) override {
    if (model == nullptr) return;
    const Sight after = Look(seen);
    Compare(hook, seen.may_write_model, "the model", before_.model,
            after.model);
    Compare(hook, seen.may_write_gradients, "gradients", before_.gradients,
            after.gradients);
    Compare(hook, seen.may_write_batch, "the batch", before_.batch,
            after.batch);
  }

  const nn::Module* model = nullptr;
  std::vector<std::string> findings;

 private:
  struct Sight {
    std::string model, gradients, batch;
  };

  Sight Look(const Seen& seen) const {
    Sight sight;
    sight.model = Digest(*model);
    for (const auto& [name, parameter] : model->NamedParameters()) {
      if (!parameter.grad().defined()) continue;
      absl::StrAppend(&sight.gradients, name, " ",
                      loop::HashTensor(parameter.grad()), "\n");
    }
    if (seen.batch != nullptr && seen.batch->input.is_tensor()) {
      sight.batch = loop::HashTensor(seen.batch->input.tensor());
    }
    return sight;
  }

  void Compare(Hook hook, bool may_write, const std::string& what,
               const std::string& before, const std::string& after) {
    if (may_write || before == after) return;
    const std::string finding =
        absl::StrCat(std::string(ToString(hook)), " changes ", what);
    if (!Contains(findings, finding)) findings.push_back(finding);
  }

  Sight before_;
};

// Sees whether an evaluation leaves the model as it was.
class EvaluationGuard : public Watcher {
 public:
  void After(Hook hook, const Seen&) override {
    if (model == nullptr) return;
    if (hook == Hook::kAfterOptimizer) before_ = Digest(*model);
    if (hook == Hook::kEpochEnd && Digest(*model) != before_) {
      changed = true;
    }
  }
  const nn::Module* model = nullptr;
  bool changed = false;

 private:
  std::string before_;
};

}  // namespace

absl::Status HooksAreDeclared(const Subject& subject) {
#if defined(__clang__)
  return NothingToCheck("only GNU's compiler shows what a class overrides");
#endif
  absl::StatusOr<RunningPlugin> running = Load(subject);
  if (!running.ok()) return running.status();
  Plugin& plugin = *running->plugin;
  const std::vector<std::string>& declared = subject.manifest.hooks;
  const std::vector<std::string> overridden = OverriddenHooks(
      plugin,
      std::make_index_sequence<std::tuple_size_v<decltype(kHookMethods)>>());
  std::vector<std::string> findings;
  for (const std::string& hook : overridden) {
    if (Contains(declared, hook)) continue;
    findings.push_back(absl::StrCat(
        hook, " is overridden and not declared: it is never called"));
  }
  for (const std::string& hook : declared) {
    if (IsAlwaysCalled(hook) || Contains(overridden, hook)) continue;
    findings.push_back(absl::StrCat(hook, " is declared and not overridden"));
  }
  const bool saves = Overrides(plugin, &Plugin::SaveState);
  const bool loads = Overrides(plugin, &Plugin::LoadState);
  if (saves != loads) {
    findings.push_back(saves ? "SaveState is overridden, LoadState is not"
                             : "LoadState is overridden, SaveState is not");
  } else if (saves != subject.manifest.state.has_value()) {
    findings.push_back(saves ? "it has state, and the manifest has no `state`"
                             : "`state` is declared, SaveState not overridden");
  }
  plugin.Close();
  if (findings.empty()) return absl::OkStatus();
  return Found(absl::StrJoin(findings, "\n"));
}

absl::Status SurvivesNeighbour(const Subject& subject) {
  for (const Hook hook :
       {Hook::kConfigure, Hook::kWrapForward, Hook::kFitBegin,
        Hook::kBeforeForward, Hook::kBeforeOptimizer, Hook::kEvalBatchBegin,
        Hook::kBeforeSave, Hook::kFitEnd}) {
    const std::string place = absl::StrCat("where a neighbour fails in ",
                                           std::string(ToString(hook)));
    NowAt(place);
    const absl::Status status = SurviveFailureAt(subject, hook);
    if (status.ok()) continue;
    return Found(absl::StrCat(place, ": ", std::string(status.message())));
  }
  return absl::OkStatus();
}

absl::Status KeepsToItsPhase(const Subject& subject) {
  PhaseGuard guard;
  EvaluationGuard evaluation;
  HarnessOptions options = Training(subject);
  options.run_dir = subject.scratch;
  options.epochs = 2;
  options.watcher = &guard;
  options.neighbour.reset(Spy(evaluation).release());
  auto harness = PluginHarness::Create(std::move(options));
  if (!harness.ok()) return Found(std::string(harness.status().message()));
  guard.model = evaluation.model = &(*harness)->model();
  const absl::Status status = EndedWell((*harness)->Train());
  if (!status.ok()) return status;
  if (evaluation.changed) {
    guard.findings.push_back("an evaluation leaves the model changed");
  }
  guard.model = evaluation.model = nullptr;
  if (guard.findings.empty()) return absl::OkStatus();
  return Found(absl::StrJoin(guard.findings, "\n"));
}

}  // namespace slipway::testing
