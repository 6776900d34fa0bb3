#include "trainer/loop/advice.h"

#include <string>

#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

TEST(TimeShares, AddsUpWhatPeopleTellApart) {
  EXPECT_EQ(TimeShares({{"data", 1},
                        {"forward", 2},
                        {"loss", 0.5},
                        {"backward", 4},
                        {"synchronisation", 0.5},
                        {"optimizer", 1},
                        {"metrics", 0.5},
                        {"hooks", 0.25},
                        {"other", 0.25}}),
            "data 10 %, compute 80 %, synchronisation 5 %, hooks 2 %, other "
            "2 %");
}

TEST(TimeShares, LeavesOutWhatTookNoTime) {
  EXPECT_EQ(TimeShares({{"forward", 999}, {"data", 1}}), "compute 100 %");
  EXPECT_EQ(TimeShares({}), "");
}

struct Case {
  const char* name;
  NamedValues seconds;
  AdviceFacts facts;
  const char* advice;
};

TEST(Advice, NamesTheOneChangeThatHelps) {
  const Case cases[] = {
      {"nothing measured", {}, {}, ""},
      {"computing", {{"forward", 9}, {"data", 0.5}}, {.num_workers = 2}, ""},
      {"no workers",
       {{"forward", 6}, {"data", 4}},
       {.num_workers = 0, .cores = 8},
       "batches are prepared between the steps; set num_workers to 2"},
      {"no workers, one core",
       {{"forward", 6}, {"data", 4}},
       {.num_workers = 0, .cores = 1},
       "batches are prepared between the steps; set num_workers to 1"},
      {"few workers",
       {{"forward", 6}, {"data", 4}},
       {.num_workers = 3, .cores = 8},
       "the data pipeline is too slow; raise num_workers from 3 to 5"},
      {"nearly nothing but waiting",
       {{"data", 99}, {"forward", 1}},
       {.num_workers = 2, .cores = 16},
       "the data pipeline is too slow; raise num_workers from 2 to 16"},
      {"no cores left",
       {{"forward", 6}, {"data", 4}},
       {.num_workers = 4, .cores = 4},
       "the data pipeline is too slow, with 4 workers on 4 cores; use smaller "
       "images or cheaper transforms"},
      {"ranks",
       {{"forward", 6}, {"synchronisation", 3}},
       {.num_workers = 2, .batch_size = 8, .batch_accumulate = 2},
       "ranks wait for each other; raise batch_size from 8 or "
       "batch_accumulate from 2"},
      {"a hook",
       {{"forward", 6}, {"hooks", 3}},
       {.plugin = "ema", .hook = "AfterOptimizer", .hook_seconds = 2.7},
       "plugin ema takes 30 % in AfterOptimizer; --plugin_profile shows its "
       "hooks"},
      {"many small hooks",
       {{"forward", 6}, {"hooks", 3}},
       {.plugin = "ema", .hook = "AfterOptimizer", .hook_seconds = 0.5},
       ""},
      {"optimizer",
       {{"forward", 3}, {"optimizer", 3}},
       {.batch_size = 4},
       "the optimizer takes as long as the model; raise batch_size from 4 or "
       "batch_accumulate from 1"},
      {"tiny steps",
       {{"forward", 3}, {"other", 3}},
       {.batch_size = 4},
       "the steps are too short for what surrounds them; raise batch_size from "
       "4 or batch_accumulate from 1"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Advice(c.seconds, c.facts), c.advice) << c.name;
  }
}

}  // namespace
}  // namespace slipway::loop
