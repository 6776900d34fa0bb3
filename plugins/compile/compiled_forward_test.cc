#include "plugins/compile/compiled_forward.h"

#include <cstdlib>
#include <fstream>

#include "ATen/ops/randn.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plugins/compile/test_net.h"

namespace slipway::compile {
namespace {

using testing::HasSubstr;

// With a compiler that says something and fails: what it makes is
// package_test's. Real processes.
class CompiledForwardTest : public testing::Test {
 protected:
  CompiledForwardTest() {
    options_.cache_dir =
        testing::TempDir() + "/" +
        testing::UnitTest::GetInstance()->current_test_info()->name();
    options_.wait = true;
    options_.program = testing::TempDir() + "/compiler.py";
    std::ofstream(options_.program)
        << "import sys\n"
           "print('{\"error\": \"environment\", \"message\": \"no g++\", "
           "\"hint\": \"install it\"}', file=sys.stderr)\n"
           "sys.exit(3)\n";
  }

  GraphSetup Train() {
    return {.options = options_, .graph = "train", .candidate = ""};
  }
  // The model's answer, whichever way.
  void ExpectModels(CompiledForward& forward, int64_t size) {
    const Value batch(at::randn({size, 3, 8, 8}));
    net_->Train(false);  // no running statistics: twice the same
    const Value output = forward.Run(ForwardOf(*net_), batch);
    EXPECT_TRUE(output.tensor().equal(net_->Run(batch).tensor()));
  }

  Options options_;
  const std::unique_ptr<nn::Module> net_ = TestNet();
};

TEST_F(CompiledForwardTest, RunsEagerlyAndSaysOnceWhatIsMissing) {
  const GraphSetup setup = Train();
  CompiledForward forward(*net_, setup);
  ExpectModels(forward, 4);
  const std::vector<Outcome> outcomes = forward.TakeOutcomes();
  ASSERT_EQ(outcomes.size(), 1);
  EXPECT_TRUE(outcomes[0].failed());
  EXPECT_EQ(outcomes[0].candidate, "eager");
  EXPECT_THAT(outcomes[0].reason, HasSubstr("no g++"));
  EXPECT_THAT(outcomes[0].reason, HasSubstr("install it"));
  ExpectModels(forward, 4);
  EXPECT_TRUE(forward.TakeOutcomes().empty());
}

TEST_F(CompiledForwardTest, TrainsOnWhileTheCompilerRuns) {
  options_.wait = false;
  std::ofstream(options_.program) << "import time\ntime.sleep(1000)\n";
  const GraphSetup setup = Train();
  CompiledForward forward(*net_, setup);
  for (int i = 0; i < 3; ++i) ExpectModels(forward, 4);
  EXPECT_TRUE(forward.TakeOutcomes().empty());
}

TEST_F(CompiledForwardTest, EndsACompilerThatTakesTooLong) {
  options_.timeout = 0.2;
  std::ofstream(options_.program) << "import time\ntime.sleep(1000)\n";
  const GraphSetup setup = Train();
  CompiledForward forward(*net_, setup);
  ExpectModels(forward, 4);
  const std::vector<Outcome> outcomes = forward.TakeOutcomes();
  ASSERT_EQ(outcomes.size(), 1);
  EXPECT_TRUE(outcomes[0].failed());
}

TEST_F(CompiledForwardTest, TakesOtherBatchSizesForTheSameGraph) {
  const GraphSetup setup = Train();
  CompiledForward forward(*net_, setup);
  ExpectModels(forward, 4);
  forward.TakeOutcomes();
  for (int i = 0; i < 3; ++i) ExpectModels(forward, 3);
  EXPECT_TRUE(forward.TakeOutcomes().empty());
}

TEST_F(CompiledForwardTest, CompilesAnotherShapeWhenItRepeats) {
  options_.dynamic = false;
  const GraphSetup setup = Train();
  CompiledForward forward(*net_, setup);
  ExpectModels(forward, 4);
  EXPECT_EQ(forward.TakeOutcomes().size(), 1);
  ExpectModels(forward, 3);
  EXPECT_EQ(forward.TakeOutcomes().size(), 0);
  ExpectModels(forward, 3);
  EXPECT_EQ(forward.TakeOutcomes().size(), 1);
}

TEST_F(CompiledForwardTest, StopsAtSomeShapesAndSaysSo) {
  options_.dynamic = false;
  const GraphSetup setup = Train();
  CompiledForward forward(*net_, setup);
  std::vector<Outcome> outcomes;
  for (int64_t size = 2; size < 22; ++size) {
    for (int i = 0; i < 3; ++i) ExpectModels(forward, size);
    for (const Outcome& outcome : forward.TakeOutcomes()) {
      outcomes.push_back(outcome);
    }
  }
  ASSERT_EQ(outcomes.size(), 9);
  EXPECT_THAT(outcomes[8].reason, HasSubstr("in more than 8 shapes"));
}

TEST_F(CompiledForwardTest, StaysEagerWhereItWas) {
  GraphSetup setup = Train();
  setup.candidate = "eager";
  CompiledForward forward(*net_, setup);
  ExpectModels(forward, 4);
  const std::vector<Outcome> outcomes = forward.TakeOutcomes();
  ASSERT_EQ(outcomes.size(), 1);
  EXPECT_EQ(outcomes[0].reason, "");
}

TEST_F(CompiledForwardTest, SaysWhatItCannotCapture) {
  const GraphSetup setup = Train();
  CompiledForward forward(*net_, setup);
  const auto reads = [this](const Value& batch) {
    const Value output = net_->Run(batch);
    return output.tensor().sum().item<float>() > 1e9 ? batch : output;
  };
  forward.Run(reads, Value(at::randn({4, 3, 8, 8})));
  const std::vector<Outcome> outcomes = forward.TakeOutcomes();
  ASSERT_EQ(outcomes.size(), 1);
  EXPECT_THAT(outcomes[0].reason, HasSubstr("on the host"));
}

TEST_F(CompiledForwardTest, PassesOnWhatTheModelThrows) {
  const GraphSetup setup = Train();
  CompiledForward forward(*net_, setup);
  EXPECT_THROW(forward.Run(ForwardOf(*net_), Value(at::randn({4, 5, 8, 8}))),
               c10::Error);
}

}  // namespace
}  // namespace slipway::compile
