// How a training ended: what result.json says.
//
//   const RunResult result = trainer->Fit();
//   std::ofstream("result.json") << ToJson(result).dump(2);
//   return result.exit_code;
//
// Values only.
#ifndef SLIPWAY_TRAINER_LOOP_RUN_RESULT_H_
#define SLIPWAY_TRAINER_LOOP_RUN_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"
#include "trainer/recipe/problem.h"
#include "trainer/report/reporter.h"

namespace slipway::loop {

enum class ExitReason {
  kDone,       // max_epochs reached
  kEarlyStop,  // a hook asked for it
  kSignal,     // SIGINT or SIGTERM
  kNonFinite,
  kPeerLost,
  kError,
};

// "done", "early_stop", "signal", "non_finite", "peer_lost" or "error".
std::string_view ToString(ExitReason reason);

// The best value of the watched metric.
struct BestValue {
  std::string name;
  double value = 0;
  int64_t epoch = 0;  // from 0
};

// Seconds spent in one plugin's hooks, together and in each.
struct PluginSeconds {
  std::string id;
  std::string version;
  double seconds = 0;
  NamedValues hooks;
};

// The checkpoint from which a training was taken up.
struct ResumedFrom {
  std::string path;
  int64_t epoch = 0;  // finished epochs in it
  int64_t step = 0;
};

struct RunResult {
  ExitReason exit_reason = ExitReason::kDone;
  // Of the process: 0 done, 1 failed, 2 nothing was started, 128 + signal.
  int exit_code = 0;
  std::optional<Problem> error;

  std::string recipe;   // as the user named it; empty without one
  std::string run_dir;  // empty if nothing is written
  std::string plan_hash;
  std::vector<std::string> tainted;  // conflicts that the recipe allowed
  int world_size = 1;
  std::string device;  // "cpu", "cuda:0"

  int64_t epochs = 0;   // finished
  int64_t steps = 0;    // taken
  int64_t samples = 0;  // trained on, over all ranks
  // Of training, with that before a resume. (samples, epochs and steps too.)
  double seconds = 0;
  int64_t peak_rss_bytes = 0;
  std::optional<int64_t> peak_device_bytes;

  // Of the last epoch that has them.
  NamedValues train_metrics;
  NamedValues valid_metrics;
  std::optional<BestValue> best;
  // File names in the run folder; empty if not written.
  std::string latest_checkpoint;
  std::string best_checkpoint;
  std::string average_checkpoint;
  std::optional<ResumedFrom> resumed_from;
  std::vector<PluginSeconds> plugins;
  // Of the whole training, by phase (phase_timer.h).
  NamedValues phase_seconds;
  // What plugins say of their part, by name: Context::SetResult.
  nlohmann::ordered_json sections = nlohmann::ordered_json::object();

  double samples_per_second() const {
    return seconds > 0 ? samples / seconds : 0;
  }
};

// The contracts' object, every field present; what is not known is null.
nlohmann::ordered_json ToJson(const RunResult& result);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_RUN_RESULT_H_
