#include "trainer/loop/watched_metric.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

std::vector<int64_t> BestEpochs(WatchedMetric watched,
                                const std::vector<double>& values) {
  std::vector<int64_t> epochs;
  for (size_t i = 0; i < values.size(); ++i) {
    if (watched.Offer({{"Top5", 1}, {"Accuracy", values[i]}}, i)) {
      epochs.push_back(i);
    }
  }
  return epochs;
}

TEST(WatchedMetric, IsBestWhereStrictlyBetter) {
  EXPECT_EQ(BestEpochs({"Accuracy", true}, {0.5, 0.5, 0.7, 0.6}),
            (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(BestEpochs({"Accuracy", false}, {0.5, 0.5, 0.3, 0.6}),
            (std::vector<int64_t>{0, 2}));
}

TEST(WatchedMetric, MatchesNamesWithoutCaseAndSeparators) {
  EXPECT_EQ(BestEpochs({"accuracy_", true}, {0.5}).size(), 1u);
  EXPECT_TRUE(BestEpochs({"precision", true}, {0.5}).empty());
}

TEST(WatchedMetric, PrefersTheExactName) {
  const NamedValues values = {{"top_5", 1}, {"Top5", 2}};
  EXPECT_EQ(FindMetric(values, "Top5")->second, 2);
  EXPECT_EQ(FindMetric(values, "TOP5")->second, 1);
  EXPECT_EQ(FindMetric(values, "Top1"), nullptr);
}

TEST(WatchedMetric, NeverTakesANan) {
  EXPECT_EQ(BestEpochs({"Accuracy", true}, {std::nan(""), 0.1, std::nan("")}),
            (std::vector<int64_t>{1}));
}

TEST(WatchedMetric, WatchesNothingWithoutAName) {
  EXPECT_TRUE(BestEpochs(WatchedMetric(), {0.5}).empty());
}

TEST(WatchedMetric, RemembersTheFullNameAndEpoch) {
  WatchedMetric watched("accuracy", true);
  watched.Offer({{"Accuracy", 0.5}}, 4);
  ASSERT_TRUE(watched.best().has_value());
  EXPECT_EQ(watched.best()->name, "Accuracy");
  EXPECT_EQ(watched.best()->epoch, 4);
}

}  // namespace
}  // namespace slipway::loop
