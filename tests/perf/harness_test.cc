#include "tests/perf/harness.h"

#include <sstream>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace slipway::perf {
namespace {

// The given costs, one a call.
Measure Series(std::vector<double> costs) {
  return [costs, i = size_t{0}]() mutable { return costs.at(i++); };
}

TEST(Quantile, InterpolatesLinearly) {
  EXPECT_EQ(Quantile({7}, 0.25), 7);
  EXPECT_EQ(Quantile({3, 1}, 0.5), 2);
  EXPECT_EQ(Quantile({5, 1, 2, 4, 3}, 0.25), 2);
  EXPECT_EQ(Quantile({5, 1, 2, 4, 3}, 1), 5);
}

TEST(Benchmark, RefusesUnknownArguments) {
  for (const char* argument :
       {"--rounds=0", "--rounds=x", "--format=xml", "5"}) {
    const char* argv[] = {"program", argument};
    EXPECT_FALSE(Benchmark("x", "s").ParseArguments(2, argv)) << argument;
  }
}

TEST(Benchmark, JudgesTheLowerQuartileOfEachPair) {
  Benchmark benchmark("speed", "seconds");
  const char* argv[] = {"program", "--rounds=5", "--format=json"};
  ASSERT_TRUE(benchmark.ParseArguments(3, argv));
  // The first of each is the round that does not count.
  const std::vector<double> costs = {99, 1, 2, 3, 4, 5};
  benchmark.Compare({"a", "one", Series(costs), Constant(1), 2});
  benchmark.Compare({"b", "one", Series(costs), Constant(1), 0});
  nlohmann::ordered_json json = benchmark.ToJson();
  EXPECT_EQ(json["name"], "speed");
  EXPECT_EQ(json["unit"], "seconds");
  EXPECT_GT(json["machine"]["cores"], 0);
  EXPECT_EQ(json["pairs"][0], nlohmann::ordered_json({{"a", "a"},
                                                      {"b", "one"},
                                                      {"ratio_median", 3.0},
                                                      {"ratio_p25", 2.0},
                                                      {"ratio_p75", 4.0},
                                                      {"rounds", 5},
                                                      {"a_median", 3.0},
                                                      {"b_median", 1.0},
                                                      {"limit", 2.0},
                                                      {"holds", true}}));
  EXPECT_EQ(json["pairs"][1]["limit"], nullptr);
  EXPECT_EQ(json["limit"], 2.0);
  EXPECT_EQ(json["holds"], true);
  std::ostringstream out;
  EXPECT_EQ(benchmark.Finish(out), 0);
  EXPECT_EQ(nlohmann::ordered_json::parse(out.str())["pairs"], json["pairs"]);

  benchmark.Compare({"c", "one", Series(costs), Constant(1), 1.9});
  json = benchmark.ToJson();
  EXPECT_EQ(json["limit"], nullptr);
  EXPECT_EQ(json["holds"], false);
  EXPECT_EQ(benchmark.Finish(out), 1);
}

TEST(Benchmark, MeasuresBothSidesInTurns) {
  Benchmark benchmark("order", "calls");
  const char* argv[] = {"program", "--rounds=3"};
  ASSERT_TRUE(benchmark.ParseArguments(2, argv));
  std::string order;
  const auto note = [&](char side) {
    return [&order, side] { return order += side, 1.0; };
  };
  benchmark.Compare({"a", "b", note('a'), note('b'), 0});
  EXPECT_EQ(order,
            "ab"
            "ab"
            "ba"
            "ab");
  std::ostringstream out;
  EXPECT_EQ(benchmark.Finish(out), 0);
  EXPECT_NE(out.str().find("ratio 1.000"), std::string::npos) << out.str();
}

TEST(Benchmark, MeasuresAllSidesInEachRound) {
  Benchmark benchmark("order", "calls");
  const char* argv[] = {"program", "--rounds=2"};
  ASSERT_TRUE(benchmark.ParseArguments(2, argv));
  std::string order;
  const auto note = [&](char side) {
    return [&order, side] { return order += side, 1.0; };
  };
  benchmark.CompareAll({{"a", note('a')}, {"b", note('b')}}, {"c", note('c')});
  EXPECT_EQ(order,
            "abc"
            "abc"
            "cba");
  const nlohmann::ordered_json pairs = benchmark.ToJson()["pairs"];
  ASSERT_EQ(pairs.size(), 2);
  EXPECT_EQ(pairs[0]["a"], "a");
  EXPECT_EQ(pairs[1]["a"], "b");
  EXPECT_EQ(pairs[1]["b"], "c");
}

TEST(Benchmark, JudgesASideByAnotherOneToo) {
  Benchmark benchmark("speed", "seconds");
  const char* argv[] = {"program", "--rounds=5"};
  ASSERT_TRUE(benchmark.ParseArguments(2, argv));
  const Side other = {"other", Constant(3)};
  const auto ours = [](double cost) {
    return Side{"ours", Constant(cost), 1, "other"};
  };
  benchmark.CompareAll({ours(2), other}, {"base", Constant(4)});
  const nlohmann::ordered_json json = benchmark.ToJson();
  EXPECT_EQ(json["pairs"][0]["ratio_p25"], 0.5);
  EXPECT_EQ(json["pairs"][0]["at_most"]["b"], "other");
  EXPECT_NEAR(json["pairs"][0]["at_most"]["ratio_p25"], 2.0 / 3, 1e-12);
  EXPECT_EQ(json["pairs"][0]["holds"], true);
  EXPECT_FALSE(json["pairs"][1].contains("at_most"));
  EXPECT_EQ(json["holds"], true);

  // Within the limit, and above the other.
  benchmark.CompareAll({ours(3.5), other}, {"base", Constant(4)});
  std::ostringstream out;
  EXPECT_EQ(benchmark.Finish(out), 1);
  EXPECT_NE(out.str().find("limit 1 holds, over other 1.167"),
            std::string::npos)
      << out.str();
  EXPECT_NE(out.str().find("limit 1 DOES NOT HOLD"), std::string::npos);
}

TEST(CpuTimeOf, CountsWorkAndNotWaiting) {
  volatile double sink = 0;
  const double busy = CpuTimeOf([&] {
    for (int i = 0; i < 10'000'000; ++i) sink = sink + i;
  });
  EXPECT_GT(busy, 1e-4);
  EXPECT_LT(CpuTimeOf([] {}), busy);
}

}  // namespace
}  // namespace slipway::perf
