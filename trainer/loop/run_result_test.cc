#include "trainer/loop/run_result.h"

#include <cmath>
#include <set>

#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

using Json = nlohmann::ordered_json;

TEST(RunResult, HasEveryFieldOfTheContract) {
  const Json json = ToJson(RunResult());
  std::set<std::string> keys;
  for (const auto& item : json.items()) keys.insert(item.key());
  const std::set<std::string> expected = {"schema",
                                          "exit_reason",
                                          "exit_code",
                                          "error",
                                          "recipe",
                                          "run_dir",
                                          "plan_hash",
                                          "tainted",
                                          "world_size",
                                          "device",
                                          "epochs",
                                          "steps",
                                          "samples",
                                          "seconds",
                                          "samples_per_second",
                                          "peak_rss_bytes",
                                          "peak_device_bytes",
                                          "metrics",
                                          "checkpoints",
                                          "resumed_from",
                                          "plugins",
                                          "time",
                                          "compile",
                                          "versions"};
  EXPECT_EQ(keys, expected);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_TRUE(json["versions"]["slipway"].is_string());
  EXPECT_TRUE(json["versions"]["libtorch"].is_string());
}

TEST(RunResult, WritesWhatIsNotKnownAsNull) {
  const Json json = ToJson(RunResult());
  for (const char* key : {"error", "recipe", "run_dir", "peak_device_bytes",
                          "resumed_from", "compile"}) {
    EXPECT_TRUE(json[key].is_null()) << key;
  }
  EXPECT_TRUE(json["metrics"]["best"].is_null());
  EXPECT_TRUE(json["checkpoints"]["latest"].is_null());
}

TEST(RunResult, SpellsNonFiniteNumbers) {
  RunResult result;
  result.train_metrics = {
      {"a", std::nan("")}, {"b", HUGE_VAL}, {"c", -HUGE_VAL}, {"d", 0.5}};
  const Json train = ToJson(result)["metrics"]["final"]["train"];
  EXPECT_EQ(train["a"], "nan");
  EXPECT_EQ(train["b"], "inf");
  EXPECT_EQ(train["c"], "-inf");
  EXPECT_EQ(train["d"], 0.5);
}

TEST(RunResult, TellsHowItEnded) {
  RunResult result;
  result.exit_reason = ExitReason::kNonFinite;
  result.exit_code = 1;
  result.error = Problem{.kind = "non_finite", .message = "the loss is nan"};
  result.best = BestValue{"Accuracy", 0.5, 3};
  result.samples = 100;
  result.seconds = 4;
  result.plugins = {{"ema", "1.0.0", 0.25, {{"AfterOptimizer", 0.25}}}};
  const Json json = ToJson(result);
  EXPECT_EQ(json["exit_reason"], "non_finite");
  EXPECT_EQ(json["error"]["message"], "the loss is nan");
  EXPECT_EQ(json["metrics"]["best"]["epoch"], 3);
  EXPECT_EQ(json["samples_per_second"], 25.0);
  EXPECT_EQ(json["plugins"][0]["id"], "ema");
  EXPECT_EQ(json["plugins"][0]["hooks"]["AfterOptimizer"], 0.25);
}

TEST(ExitReason, HasTheContractsNames) {
  EXPECT_EQ(ToString(ExitReason::kDone), "done");
  EXPECT_EQ(ToString(ExitReason::kEarlyStop), "early_stop");
  EXPECT_EQ(ToString(ExitReason::kSignal), "signal");
  EXPECT_EQ(ToString(ExitReason::kPeerLost), "peer_lost");
  EXPECT_EQ(ToString(ExitReason::kError), "error");
}

}  // namespace
}  // namespace slipway::loop
