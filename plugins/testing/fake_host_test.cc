#include "plugins/testing/fake_host.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/plugin/plugin.h"

namespace slipway::testing {
namespace {

// Says, asks and enters what a hook can.
class Talker : public Plugin {
 public:
  struct Note : public Scope {
    explicit Note(std::string& text) : text(text) { text += "in "; }
    ~Note() override { text += "out"; }
    std::string& text;
  };

  absl::Status BeforeForward(ForwardContext& context) override {
    context.Enter(std::make_unique<Note>(text));
    return absl::OkStatus();
  }
  absl::Status BeforeOptimizer(GradientContext& context) override {
    for (const auto& [name, parameter] : context.model().NamedParameters()) {
      if (parameter.grad().defined()) ++gradients;
    }
    return absl::OkStatus();
  }
  absl::Status StepEnd(StepContext& context) override {
    Problem problem;
    problem.message = "a word";
    context.Report(problem);
    context.Report(problem);
    context.Tell("checkpoint", recipe::Node::Map());
    context.SetResult("talker", recipe::Node::Int(context.step()));
    if (context.step_taken()) context.control().RequestStop("enough");
    return absl::OkStatus();
  }

  std::string text;
  int gradients = 0;
};

TEST(FakeHost, RecordsWhatHooksSayAndAskFor) {
  FakeHost host;
  Talker talker;
  host.Step(0.1);
  StepContext context = host.In<StepContext>();
  ASSERT_TRUE(talker.StepEnd(context).ok());
  ASSERT_EQ(host.problems().size(), 1);  // equal ones are said once
  EXPECT_EQ(host.problems()[0].message, "a word");
  ASSERT_EQ(host.events().size(), 1);
  EXPECT_EQ(host.events()[0].first, "checkpoint");
  ASSERT_NE(host.Result("talker"), nullptr);
  EXPECT_EQ(host.Result("talker")->AsInt(), 1);
  EXPECT_EQ(host.Result("other"), nullptr);
  EXPECT_EQ(host.control().stop_reason(), "enough");
}

TEST(FakeHost, TellsStepsThatWereSkipped) {
  FakeHost host;
  Talker talker;
  host.Step(0.1, /*taken=*/false);
  StepContext context = host.In<StepContext>();
  ASSERT_TRUE(talker.StepEnd(context).ok());
  EXPECT_EQ(host.Result("talker")->AsInt(), 0);
  EXPECT_FALSE(host.control().stop());
}

TEST(FakeHost, HasGradientsAfterBackwardAndNoneAfterAStep) {
  FakeHost host;
  Talker talker;
  host.Backward();
  GradientContext context = host.In<GradientContext>();
  ASSERT_TRUE(talker.BeforeOptimizer(context).ok());
  EXPECT_EQ(talker.gradients, 5);
  const double before =
      host.model().NamedParameters()[0].second.sum().item().toDouble();
  host.Step(0.1);
  EXPECT_NE(host.model().NamedParameters()[0].second.sum().item().toDouble(),
            before);
  ASSERT_TRUE(talker.BeforeOptimizer(context).ok());
  EXPECT_EQ(talker.gradients, 5);
}

TEST(FakeHost, UndoesScopesWhenThePhaseEnds) {
  FakeHost host;
  Talker talker;
  ForwardContext context = host.In<ForwardContext>();
  ASSERT_TRUE(talker.BeforeForward(context).ok());
  EXPECT_EQ(talker.text, "in ");
  host.LeaveScopes();
  EXPECT_EQ(talker.text, "in out");
}

}  // namespace
}  // namespace slipway::testing
