#include "plugins/testing/harness.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::testing {
namespace {

using ::testing::HasSubstr;

// Stops at a step, and keeps the number of its calls as its state.
class Stopper : public Plugin {
 public:
  explicit Stopper(int64_t at) : at_(at) {}
  absl::Status StepEnd(StepContext& context) override {
    ++calls_;
    if (context.step() == at_) context.control().RequestStop("there");
    return absl::OkStatus();
  }
  absl::StatusOr<PluginState> SaveState() override {
    PluginState state;
    state.values = recipe::Node::Map();
    state.values.Set("calls", recipe::Node::Int(calls_));
    return state;
  }
  absl::Status LoadState(int /*version*/, const PluginState& state) override {
    calls_ = state.values.Find("calls")->AsInt();
    return absl::OkStatus();
  }

 private:
  int64_t at_;
  int64_t calls_ = 0;
};

std::unique_ptr<PluginHarness> Make(HarnessOptions options) {
  auto harness = PluginHarness::Create(std::move(options));
  EXPECT_TRUE(harness.ok()) << harness.status();
  return harness.ok() ? *std::move(harness) : nullptr;
}

TEST(PluginHarness, TrainsAndCountsCalls) {
  HarnessOptions options;
  options.plugin = std::make_unique<Plugin>();
  options.epochs = 2;
  options.steps_per_epoch = 3;
  const auto harness = Make(std::move(options));
  ASSERT_NE(harness, nullptr);
  EXPECT_EQ(harness->Train().exit_code, 0);
  EXPECT_EQ(harness->losses().size(), 6);
  EXPECT_LT(harness->losses().back(), harness->losses().front());
  EXPECT_EQ(harness->calls(Hook::kAfterOptimizer), 6);
  EXPECT_EQ(harness->calls(Hook::kEvalBegin), 2);
  EXPECT_EQ(harness->calls(Hook::kClose), 1);
}

TEST(PluginHarness, HearsWhatThePluginAsksFor) {
  HarnessOptions options;
  options.plugin = std::make_unique<Stopper>(2);
  const auto harness = Make(std::move(options));
  ASSERT_NE(harness, nullptr);
  const loop::RunResult result = harness->Train();
  EXPECT_EQ(result.exit_reason, loop::ExitReason::kEarlyStop);
  EXPECT_EQ(harness->losses().size(), 2);
}

TEST(PluginHarness, GoesOnFromACheckpointAsIfUninterrupted) {
  const std::string folder = ::testing::TempDir() + "/harness_run";
  std::filesystem::create_directories(folder);
  HarnessOptions options;
  options.plugin = std::make_unique<Stopper>(-1);
  options.epochs = 2;
  options.run_dir = folder;
  const auto whole = Make(std::move(options));
  ASSERT_NE(whole, nullptr);
  ASSERT_EQ(whole->Train().exit_code, 0);

  options = {};
  options.plugin = std::make_unique<Stopper>(-1);
  options.epochs = 2;
  const auto rest = Make(std::move(options));
  ASSERT_NE(rest, nullptr);
  const auto checkpoint = ReadCheckpoint(folder + "/ckpt_epoch_1.pth");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  ASSERT_TRUE(rest->Resume(*checkpoint).ok());
  ASSERT_EQ(rest->Train().exit_code, 0);
  ASSERT_EQ(rest->losses().size(), 4);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rest->losses()[i], whole->losses()[i + 4]);
  }
  EXPECT_EQ(rest->SaveState()->values.Find("calls")->AsInt(), 8);
}

TEST(PluginHarness, SaysWhatIsWrongWithAFolder) {
  HarnessOptions options;
  options.folder = ::testing::TempDir() + "/none";
  const auto harness = PluginHarness::Create(std::move(options));
  ASSERT_FALSE(harness.ok());
  EXPECT_THAT(harness.status().message(), HasSubstr("none/plugin.yaml"));
}

}  // namespace
}  // namespace slipway::testing
