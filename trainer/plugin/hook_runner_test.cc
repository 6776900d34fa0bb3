#include "trainer/plugin/hook_runner.h"

#include <stdexcept>

#include "c10/util/Exception.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trainer/plan/manifest.h"
#include "trainer/plugin/testing/every_hook.h"
#include "trainer/plugin/training_state.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Log = std::vector<std::string>;

// What a plugin of these tests does at every hook, after it wrote to the log.
using Action = std::function<absl::Status(const std::string& hook)>;

// Writes "<name>.<hook>" for each call.
class Recorder : public EveryHook {
 public:
  Recorder(std::string name, Log& log, Action action)
      : name_(std::move(name)), log_(log), action_(std::move(action)) {}

  absl::Status At(std::string_view hook) override {
    log_.push_back(name_ + "." + std::string(hook));
    return action_(std::string(hook));
  }
  absl::StatusOr<PluginState> SaveState() override {
    const absl::Status status = At("SaveState");
    if (!status.ok()) return status;
    return PluginState{.values = recipe::Node::String(name_), .tensors = {}};
  }
  absl::Status LoadState(int version, const PluginState& state) override {
    log_.push_back(name_ + ".LoadState " + std::to_string(version) + " " +
                   state.values.AsString());
    return action_("LoadState");
  }

 private:
  std::string name_;
  Log& log_;
  Action action_;
};

absl::Status Nothing(const std::string&) { return absl::OkStatus(); }

// Does `what` at `hook`, and nothing at others.
Action At(const std::string& hook, const Action& what) {
  return [=](const std::string& name) {
    return name == hook ? what(name) : absl::OkStatus();
  };
}

absl::Status ReturnError(const std::string&) {
  return absl::DataLossError("no more ships");
}
absl::Status ThrowRuntimeError(const std::string&) {
  throw std::runtime_error("no more ships");
}
absl::Status ThrowLibtorchError(const std::string&) {
  TORCH_CHECK(false, "no more ships");
}
absl::Status ThrowInt(const std::string&) { throw 42; }

// A runner with recorders, their log, and what they reported.
class HookRunnerTest : public testing::Test {
 protected:
  HookRunnerTest() {
    state_.rank = 1;
    state_.step = 12;
    state_.report = [this](Problem problem) { reported_.push_back(problem); };
  }

  void Add(const std::string& id, const Action& action = Nothing,
           plan::OnError on_error = plan::OnError::kFail) {
    plugins_.push_back(Make(id, action, on_error));
  }

  RunningPlugin Make(const std::string& id, const Action& action = Nothing,
                     plan::OnError on_error = plan::OnError::kFail) {
    RunningPlugin plugin = {.id = id, .plugin = nullptr, .on_error = on_error};
    plugin.state_version = 3;
    plugin.where = {"recipe.yaml", 7, 3};
    plugin.plugin.reset(new Recorder(id, log_, action));
    return plugin;
  }

  HookRunner& Start(const HookRunner::Order& order) {
    hooks_.emplace(std::move(plugins_), order);
    return *hooks_;
  }

  Log log_;
  TrainingState state_;
  Problems reported_;
  std::vector<RunningPlugin> plugins_;
  std::optional<HookRunner> hooks_;
};

// Runs every hook that has a context, in order.
template <size_t... i>
void RunAll(HookRunner& hooks, TrainingState& state,
            std::index_sequence<i...>) {
  const auto run = [&]<typename C>(absl::Status (Plugin::*)(C&), auto hook) {
    C context(state);
    EXPECT_TRUE(hooks.Run<decltype(hook)::value>(context).ok());
  };
  (run(kHookMethod<static_cast<Hook>(i)>,
       std::integral_constant<Hook, static_cast<Hook>(i)>()),
   ...);
}

TEST_F(HookRunnerTest, CallsTheMethodThatAHookIsNamedAfter) {
  Add("a");
  HookRunner::Order order;
  Log expected;
  for (int i = 0; i < kHookCount - 2; ++i) {
    const std::string name(ToString(static_cast<Hook>(i)));
    order[name] = {"a"};
    expected.push_back("a." + name);
  }
  RunAll(Start(order), state_, std::make_index_sequence<kHookCount - 2>());
  EXPECT_EQ(log_, expected);
}

TEST(Hook, IsFoundByItsNameInManifests) {
  ASSERT_EQ(plan::HookNames().size(), kHookCount);
  for (int i = 0; i < kHookCount; ++i) {
    const Hook hook = static_cast<Hook>(i);
    EXPECT_EQ(FindHook(ToString(hook)), hook);
  }
  EXPECT_EQ(ToString(Hook::kConfigure), "Configure");
  EXPECT_EQ(ToString(Hook::kFitBegin), "FitBegin");
  EXPECT_EQ(ToString(Hook::kMicroBegin), "MicroBegin");
  EXPECT_EQ(ToString(Hook::kBeforeOptimizer), "BeforeOptimizer");
  EXPECT_EQ(ToString(Hook::kEvalForward), "EvalForward");
  EXPECT_EQ(ToString(Hook::kAfterSave), "AfterSave");
  EXPECT_EQ(ToString(Hook::kClose), "Close");
  EXPECT_EQ(FindHook("beforeForward"), std::nullopt);
}

TEST_F(HookRunnerTest, FollowsThePlansOrderAndCallsNobodyElse) {
  Add("a");
  Add("b");
  Add("c");
  HookRunner& hooks = Start({{"FitBegin", {"c", "a"}}, {"NoSuchHook", {"b"}}});
  FitContext context(state_);
  EXPECT_TRUE(hooks.Run<Hook::kFitBegin>(context).ok());
  EXPECT_TRUE(hooks.Run<Hook::kFitEnd>(context).ok());
  EXPECT_THAT(log_, ElementsAre("c.FitBegin", "a.FitBegin"));
  EXPECT_TRUE(hooks.Has(Hook::kFitBegin));
  EXPECT_FALSE(hooks.Has(Hook::kFitEnd));
}

TEST_F(HookRunnerTest, CallsCallbacksLastAndInClosingHooksFirst) {
  Add("a");
  HookRunner& hooks = Start({{"FitBegin", {"a"}}, {"FitEnd", {"a"}}});
  hooks.AddCallback(Make("x"));
  hooks.AddCallback(Make("y"));
  FitContext context(state_);
  EXPECT_TRUE(hooks.Run<Hook::kFitBegin>(context).ok());
  EXPECT_TRUE(hooks.Run<Hook::kFitEnd>(context).ok());
  EXPECT_THAT(log_, ElementsAre("a.FitBegin", "x.FitBegin", "y.FitBegin",
                                "y.FitEnd", "x.FitEnd", "a.FitEnd"));
}

struct Failure {
  const char* name;
  Action action;
  absl::StatusCode code;
  std::string detail;
};

class FailingHookTest : public HookRunnerTest,
                        public testing::WithParamInterface<Failure> {};

TEST_P(FailingHookTest, NamesPluginHookStepAndRank) {
  Add("a", At("FitBegin", GetParam().action));
  Add("b");
  HookRunner& hooks = Start({{"FitBegin", {"a", "b"}}});
  FitContext context(state_);
  const absl::Status status = hooks.Run<Hook::kFitBegin>(context);
  EXPECT_EQ(status.code(), GetParam().code);
  EXPECT_EQ(status.message(),
            "plugin \"a\" failed in FitBegin at step 12 on rank 1: " +
                GetParam().detail);
  EXPECT_THAT(log_, ElementsAre("a.FitBegin"));
  ASSERT_TRUE(hooks.failure());
  EXPECT_EQ(FormatProblem(*hooks.failure()),
            "error: plugin \"a\" failed in FitBegin at step 12 on rank 1\n"
            "  detail: " +
                GetParam().detail +
                "\n"
                "  where:  recipe.yaml:7:3\n");
  const nlohmann::json json = ToJson(*hooks.failure());
  EXPECT_EQ(json["kind"], "hook");
  EXPECT_EQ(json["plugins"], nlohmann::json({"a"}));
  EXPECT_EQ(json["hook"], "FitBegin");
  EXPECT_EQ(json["step"], 12);
  EXPECT_EQ(json["rank"], 1);
}

INSTANTIATE_TEST_SUITE_P(
    All, FailingHookTest,
    testing::Values(Failure{"Status", ReturnError, absl::StatusCode::kDataLoss,
                            "no more ships"},
                    Failure{"SilentStatus",
                            [](const std::string&) {
                              return absl::AbortedError("");
                            },
                            absl::StatusCode::kAborted, "ABORTED"},
                    Failure{"StandardException", ThrowRuntimeError,
                            absl::StatusCode::kInternal,
                            "std::runtime_error: no more ships"},
                    Failure{"LibtorchError", ThrowLibtorchError,
                            absl::StatusCode::kInternal, "no more ships"},
                    Failure{"Int", ThrowInt, absl::StatusCode::kInternal,
                            "threw a value of type int"}),
    [](const auto& info) { return info.param.name; });

TEST_F(HookRunnerTest, WarnsOnceAndGoesOnWhenToldTo) {
  Add("a", At("StepBegin", ThrowRuntimeError), plan::OnError::kWarn);
  Add("b");
  HookRunner& hooks = Start({{"StepBegin", {"a", "b"}}});
  BatchContext context(state_);
  EXPECT_TRUE(hooks.Run<Hook::kStepBegin>(context).ok());
  ++state_.step;
  EXPECT_TRUE(hooks.Run<Hook::kStepBegin>(context).ok());
  EXPECT_THAT(log_, ElementsAre("a.StepBegin", "b.StepBegin", "a.StepBegin",
                                "b.StepBegin"));
  EXPECT_EQ(
      FormatProblems(reported_),
      "warning: plugin \"a\" failed in StepBegin at step 12 on rank 1\n"
      "  detail: std::runtime_error: no more ships\n"
      "  where:  recipe.yaml:7:3\n"
      "  hint:   the run goes on (on_error: warn); further failures of this "
      "hook are not told\n");
  EXPECT_FALSE(hooks.failure());
}

TEST_F(HookRunnerTest, CallsADisabledPluginOnlyToClose) {
  Add("a", At("StepBegin", ThrowInt), plan::OnError::kDisable);
  Add("b");
  HookRunner& hooks =
      Start({{"StepBegin", {"a", "b"}}, {"MicroBegin", {"a", "b"}}});
  BatchContext context(state_);
  EXPECT_TRUE(hooks.Run<Hook::kStepBegin>(context).ok());
  EXPECT_TRUE(hooks.Run<Hook::kStepBegin>(context).ok());
  EXPECT_TRUE(hooks.Run<Hook::kMicroBegin>(context).ok());
  EXPECT_EQ(hooks.SaveStates(context)->size(), 1);
  hooks.OnFailure(context, absl::AbortedError("over"));
  hooks.Close(context);
  EXPECT_THAT(log_, ElementsAre("a.StepBegin", "b.StepBegin", "b.StepBegin",
                                "b.MicroBegin", "b.SaveState", "b.OnFailure",
                                "b.Close", "a.Close"));
  EXPECT_EQ(
      FormatProblems(reported_),
      "warning: plugin \"a\" failed in StepBegin at step 12 on rank 1\n"
      "  detail: threw a value of type int\n"
      "  where:  recipe.yaml:7:3\n"
      "  hint:   the run goes on without this plugin (on_error: disable)\n");
}

TEST_F(HookRunnerTest, ClosesAllOnceInReverseWhateverTheyThrow) {
  for (const char* id : {"a", "b", "c"}) {
    Add(id, [](const std::string&) -> absl::Status { throw 42; });
  }
  HookRunner& hooks = Start({});
  StepContext context(state_);
  hooks.OnFailure(context, absl::AbortedError("over"));
  hooks.Close(context);
  hooks.Close(context);
  hooks_.reset();
  EXPECT_THAT(log_, ElementsAre("c.OnFailure", "b.OnFailure", "a.OnFailure",
                                "c.Close", "b.Close", "a.Close"));
  ASSERT_EQ(reported_.size(), 6);
  EXPECT_EQ(reported_[5].message,
            "plugin \"a\" failed in Close at step 12 on rank 1");
  EXPECT_EQ(reported_[5].severity, Severity::kWarning);
}

TEST_F(HookRunnerTest, ClosesWhenItIsDestroyed) {
  Add("a", At("Close", ThrowInt));
  Add("b");
  Start({});
  hooks_.reset();
  EXPECT_THAT(log_, ElementsAre("b.Close", "a.Close"));
}

TEST_F(HookRunnerTest, CountsCallsAndTimeOnlyWhileTimingIsOn) {
  Add("a", [](const std::string&) {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start <
           std::chrono::milliseconds(2)) {
    }
    return absl::OkStatus();
  });
  Add("b");
  HookRunner& hooks = Start({{"StepBegin", {"a", "b"}}});
  BatchContext context(state_);
  EXPECT_TRUE(hooks.Run<Hook::kStepBegin>(context).ok());
  EXPECT_THAT(hooks.Times(), IsEmpty());
  hooks.set_timing(true);
  EXPECT_TRUE(hooks.Run<Hook::kMicroBegin>(context).ok());
  EXPECT_TRUE(hooks.Run<Hook::kStepBegin>(context).ok());
  EXPECT_TRUE(hooks.Run<Hook::kStepBegin>(context).ok());
  const std::vector<HookRunner::Time> times = hooks.Times();
  ASSERT_EQ(times.size(), 2);
  EXPECT_EQ(times[0].plugin, "a");
  EXPECT_EQ(times[0].hook, Hook::kStepBegin);
  EXPECT_EQ(times[0].calls, 2);
  EXPECT_GE(times[0].seconds, 0.004);
  EXPECT_EQ(times[1].plugin, "b");
  EXPECT_LT(times[1].seconds, times[0].seconds);
}

TEST_F(HookRunnerTest, FailsAlikeWhileTimingIsOn) {
  Add("a", At("StepBegin", ThrowInt));
  HookRunner& hooks = Start({{"StepBegin", {"a"}}});
  hooks.set_timing(true);
  BatchContext context(state_);
  EXPECT_EQ(hooks.Run<Hook::kStepBegin>(context).message(),
            "plugin \"a\" failed in StepBegin at step 12 on rank 1: "
            "threw a value of type int");
}

TEST_F(HookRunnerTest, SavesAndLoadsStatesById) {
  Add("a");
  Add("b");
  HookRunner& hooks = Start({});
  CheckpointContext context(state_);
  const auto states = hooks.SaveStates(context);
  ASSERT_TRUE(states.ok());
  ASSERT_EQ(states->size(), 2);
  EXPECT_EQ((*states)[1].id, "b");
  EXPECT_EQ((*states)[1].version, 3);
  log_.clear();
  EXPECT_TRUE(hooks.LoadState((*states)[1], context).ok());
  EXPECT_THAT(log_, ElementsAre("b.LoadState 3 b"));
  const absl::Status unknown = hooks.LoadState({.id = "swa"}, context);
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("\"swa\""));
}

TEST_F(HookRunnerTest, GuardsStatesAsItDoesHooks) {
  Add("a", [](const std::string&) -> absl::Status { throw 42; });
  Add(
      "w", [](const std::string&) -> absl::Status { throw 42; },
      plan::OnError::kWarn);
  HookRunner& hooks = Start({});
  CheckpointContext context(state_);
  EXPECT_EQ(hooks.SaveStates(context).status().message(),
            "plugin \"a\" failed in SaveState at step 12 on rank 1: "
            "threw a value of type int");
  PluginState state = {.values = recipe::Node::String("s"), .tensors = {}};
  EXPECT_FALSE(hooks.LoadState({"a", 1, state}, context).ok());
  EXPECT_TRUE(hooks.LoadState({"w", 1, state}, context).ok());
  EXPECT_EQ(reported_.size(), 1);
}

TEST_F(HookRunnerTest, FindsPluginsById) {
  Add("a");
  HookRunner& hooks = Start({});
  EXPECT_EQ(hooks.Find("a"), hooks.plugins()[0].plugin.get());
  EXPECT_EQ(hooks.Find("b"), nullptr);
}

}  // namespace
}  // namespace slipway
