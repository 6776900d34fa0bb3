#include "plugins/compile/compile.h"

#include <fstream>

#include "ATen/ops/randn.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plugins/compile/test_net.h"
#include "trainer/plugin/context.h"
#include "trainer/plugin/training_state.h"

namespace slipway::compile {
namespace {

using recipe::Node;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A training of one process, whose compiler fails.
struct Session {
  explicit Session(Options options) {
    options.wait = true;
    if (options.scope == "auto") state.whole_step.step_blocker = "a test";
    options.cache_dir = testing::TempDir() + "/cache";
    options.program = testing::TempDir() + "/nothing.py";
    std::ofstream(options.program) << "raise SystemExit(3)\n";
    plugin.emplace(options);
    state.model = net.get();
    state.batch.input = Value(at::randn({4, 3, 8, 8}));
    state.report = [this](Problem problem) { problems.push_back(problem); };
    state.tell = [this](std::string_view name, const Node&) {
      events.emplace_back(name);
    };
  }

  void Begin() {
    ConfigureContext configure(state);
    ASSERT_TRUE(plugin->Configure(configure).ok());
    WrapContext wrap(state);
    ASSERT_TRUE(plugin->WrapForward(wrap).ok());
    FitContext fit(state);
    ASSERT_TRUE(plugin->FitBegin(fit).ok());
  }
  absl::Status Step() {
    if (!state.wrappers.empty()) {
      state.wrappers[0](ForwardOf(*net), state.batch.input);
    }
    StepContext context(state);
    return plugin->StepEnd(context);
  }

  Problems Warnings() const {
    Problems warnings;
    for (const Problem& problem : problems) {
      if (problem.severity == Severity::kWarning) warnings.push_back(problem);
    }
    return warnings;
  }

  const std::unique_ptr<nn::Module> net = TestNet();
  TrainingState state;
  std::optional<Compile> plugin;
  Problems problems;
  std::vector<std::string> events;
};

TEST(Compile, WarnsOnceAndTrainsOnWhereNothingCanBeCompiled) {
  Session run({});
  run.Begin();
  EXPECT_TRUE(run.Step().ok());
  EXPECT_TRUE(run.Step().ok());
  ASSERT_THAT(run.Warnings(), SizeIs(1));
  EXPECT_THAT(run.Warnings()[0].message, HasSubstr("stays eager"));
  EXPECT_THAT(run.Warnings()[0].hint, HasSubstr("//plugins/compile:setup"));
  EXPECT_THAT(run.events, ElementsAre("compile_fallback"));
  ASSERT_EQ(run.state.results.count("compile"), 1);
  EXPECT_EQ(run.state.results["compile"].Find("cache")->AsString(), "fallback");
}

TEST(Compile, EndsTheRunWhereItIsRequired) {
  Session run({.required = true});
  run.Begin();
  EXPECT_THAT(run.Step().message(), HasSubstr("could not be compiled"));
}

TEST(Compile, DoesNothingWhereItIsDisabled) {
  Session run({.disable = true});
  run.Begin();
  EXPECT_THAT(run.state.wrappers, IsEmpty());
  EXPECT_TRUE(run.Step().ok());
  EvalContext evaluation(run.state);
  EXPECT_TRUE(run.plugin->EvalForward(evaluation).ok());
  EXPECT_TRUE(run.state.prediction.empty());
}

TEST(Compile, SaysThatItCameTooLate) {
  Session run({});
  run.Begin();
  FitContext context(run.state);
  ASSERT_TRUE(run.plugin->FitEnd(context).ok());
  EXPECT_THAT(run.state.results["compile"].Find("reason")->AsString(),
              HasSubstr("ended before"));
}

TEST(Compile, EvaluatesByAGraphOfItsOwn) {
  Session run({});
  run.Begin();
  run.net->Train(false);
  EvalContext context(run.state);
  ASSERT_TRUE(run.plugin->EvalForward(context).ok());
  EXPECT_TRUE(run.state.prediction.tensor().equal(
      run.net->Run(run.state.batch.input).tensor()));
  ASSERT_TRUE(run.plugin->EvalEnd(context).ok());
  ASSERT_THAT(run.Warnings(), SizeIs(1));
  EXPECT_THAT(run.Warnings()[0].message, HasSubstr("the valid graph"));
  // Not the training's.
  EXPECT_EQ(run.state.results.count("compile"), 0);
}

TEST(Compile, SaysWhatAModeIsOnACpu) {
  for (const char* mode : {"reduce-overhead", "max-autotune"}) {
    Session run({.mode = mode});
    run.Begin();
    ASSERT_FALSE(run.problems.empty()) << mode;
    EXPECT_THAT(run.problems[0].message, HasSubstr(mode));
  }
}

TEST(Compile, GoesOnWithWhatACheckpointHad) {
  Session before({});
  before.Begin();
  EXPECT_TRUE(before.Step().ok());
  const absl::StatusOr<PluginState> state = before.plugin->SaveState();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->values.Find("candidate")->AsString(), "eager");
  Session after({});
  ASSERT_TRUE(after.plugin->LoadState(1, *state).ok());
  after.Begin();
  EXPECT_TRUE(after.Step().ok());
  // As it was is nothing to warn of.
  EXPECT_THAT(after.Warnings(), IsEmpty());
}

TEST(Compile, RefusesAStateThatIsNone) {
  Session run({});
  PluginState state;
  state.values = Node::Map();
  state.values.Set("candidate", Node::String("sideways"));
  EXPECT_FALSE(run.plugin->LoadState(1, state).ok());
}

// --- scopes ------------------------------------------------------------------

Problems NotesOf(const Session& run, const std::string& text) {
  Problems notes;
  for (const Problem& problem : run.problems) {
    if (problem.message.find(text) != std::string::npos) {
      notes.push_back(problem);
    }
  }
  return notes;
}

TEST(Compile, TakesTheWholeStepWhereNothingStandsBetween) {
  Session run({});
  run.state.whole_step.step_blocker = "";
  run.Begin();
  EXPECT_TRUE(run.state.whole_step.function);
  EXPECT_THAT(NotesOf(run, "the whole step is compiled"), SizeIs(1));
}

TEST(Compile, TakesTheModelWhereSomethingDoesAndSaysWhat) {
  Session run({});
  run.state.whole_step.step_blocker = "the hook AfterLoss of com.acme.noise";
  run.Begin();
  EXPECT_FALSE(run.state.whole_step.function);
  const Problems notes = NotesOf(run, "takes the model, not the whole step");
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes[0].detail, HasSubstr("AfterLoss of com.acme.noise"));
}

TEST(Compile, RefusesAWholeStepThatIsNotPossible) {
  Session run({.scope = "step"});
  run.state.whole_step.step_blocker = "training_hyperparams.clip_grad_norm";
  WrapContext wrap(run.state);
  const absl::Status status = run.plugin->WrapForward(wrap);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("no place for training_hyper"));
}

// An update that no graph can hold.
class HostUpdate : public StepUpdate {
 public:
  absl::StatusOr<std::vector<nn::NamedTensor>> UpdatedTensors() override {
    return absl::FailedPreconditionError("it asks the host");
  }
  absl::StatusOr<std::vector<double>> StepNumbers(
      const StepContext& /*context*/,
      const std::vector<double>& /*learning_rates*/) override {
    return std::vector<double>();
  }
  void Update(const std::vector<at::Tensor>& /*numbers*/) override {}
  void TookStep() override {}
};

TEST(Compile, TakesTheModelWhereNoCompilerTakesTheWholeStep) {
  HostUpdate update;
  Session run({});
  run.state.whole_step.step_blocker = "";
  run.state.whole_step.updates = {&update};
  run.Begin();
  WholeStepContext context(run.state);
  ASSERT_TRUE(run.state.whole_step.function(context).ok());
  EXPECT_EQ(run.state.whole_step.done, StepPart::kNone);
  EXPECT_TRUE(run.Step().ok());
  const Problems notes = NotesOf(run, "it asks the host");
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_EQ(notes[0].severity, Severity::kNote);
  // The model's compiler fails here, as in all of these tests.
  EXPECT_TRUE(run.Step().ok());
  ASSERT_THAT(run.Warnings(), SizeIs(1));
  EXPECT_THAT(run.Warnings()[0].message, HasSubstr("the train graph"));
}

TEST(Compile, TakesTheLossWithTheModelWhereItMay) {
  Session with({.scope = "model", .loss = true});
  with.Begin();
  EXPECT_TRUE(with.state.whole_step.function);
  Session without({.scope = "model", .loss = true});
  without.state.whole_step.loss_blocker = "the hook ComputeLoss of kd";
  without.Begin();
  EXPECT_FALSE(without.state.whole_step.function);
  EXPECT_THAT(NotesOf(without, "the loss is not compiled"), SizeIs(1));
}

TEST(ReadOptions, TakesTheCompilersOptions) {
  Node options = Node::Map();
  options.Set("max_autotune", Node::Bool(true));
  Node config = Node::Map();
  config.Set("options", options);
  const absl::StatusOr<Options> read = ReadOptions(config);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->compiler_options, R"({"max_autotune":true})");
}

}  // namespace
}  // namespace slipway::compile
