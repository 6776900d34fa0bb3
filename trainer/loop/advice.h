// Where an epoch's time went, in one line, and the one change that would help.
//
//   data 41 %, compute 55 %, hooks 2 %, other 2 %: the data pipeline is the
//   bottleneck; raise num_workers from 2 to 4
//
// Pure functions.
#ifndef SLIPWAY_TRAINER_LOOP_ADVICE_H_
#define SLIPWAY_TRAINER_LOOP_ADVICE_H_

#include <cstdint>
#include <string>

#include "trainer/report/reporter.h"

namespace slipway::loop {

// What the advice depends on besides the times.
struct AdviceFacts {
  int num_workers = 0;
  int cores = 1;  // that this process may use
  int64_t batch_size = 1;
  int64_t batch_accumulate = 1;
  // The hook that takes the most time: "ema", "AfterOptimizer", seconds in
  // this epoch.
  std::string plugin = {};
  std::string hook = {};
  double hook_seconds = 0;
};

// The shares as people read them: data, compute (forward, loss, backward,
// optimizer, metrics), synchronisation, hooks, other. Shares below half a
// percent are left out; empty if `seconds` is.
std::string TimeShares(const NamedValues& seconds);

// The change that would help most; empty where computing takes nearly all the
// time. Thresholds: waiting for data 10 %, synchronisation 20 %, one hook 10 %,
// the optimizer 30 %, what is nobody's 30 %. Beyond num_workers + 1 threads on
// `cores` cores nothing is gained by more workers.
std::string Advice(const NamedValues& seconds, const AdviceFacts& facts);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_ADVICE_H_
