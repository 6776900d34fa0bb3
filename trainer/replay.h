// Runs a run again and compares its states with those that were written down
// then: trainer --replay=RUN_DIR.
//
//   std::optional<ReplayLog> log =
//       OpenReplay(run_dir, /*rank=*/0, /*until=*/std::nullopt, problems);
//   // `trainer` is made of RUN_DIR/recipe.yaml and ReplayOverrides(*log).
//   return Replay(*std::move(log), trainer, std::cerr);
//
// The same recipe gives the same states bit for bit with the same number of
// threads on the same kind of CPU; what differs there is told first. One
// thread's.
#ifndef SLIPWAY_TRAINER_REPLAY_H_
#define SLIPWAY_TRAINER_REPLAY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "trainer/loop/state_hash.h"
#include "trainer/loop/trainer.h"
#include "trainer/recipe/problem.h"
#include "trainer/replay_log.h"

namespace slipway {

class ReplayCheck {
 public:
  explicit ReplayCheck(ReplayLog log);

  // Notes on what `here` has otherwise than the processes that wrote the log,
  // or empty.
  std::string DescribeEnvironment(const nlohmann::ordered_json& here) const;

  // Whether a state was written at this place that is still to be compared.
  bool Expects(const loop::StateRecord& place) const;
  // Compares a state of the training that runs now with that which was written
  // at the same place, if one was.
  void Observe(const loop::StateRecord& record);

  // Whether there is nothing more to learn: something differs, or all places
  // were compared.
  bool done() const { return difference_ || places_.empty(); }
  // Whether all states are equal, once the training has ended.
  bool equal() const { return !difference_ && places_.empty(); }
  // In words, for people: what is equal, or the first step, rank and tensor
  // that differ.
  std::string Verdict() const;

 private:
  using Place = std::pair<int64_t, int64_t>;  // epoch, batch
  struct Difference {
    loop::StateRecord here;
    int64_t step_there = 0;
    std::vector<std::string> parts;
  };
  std::string DescribeDifference() const;

  std::vector<nlohmann::ordered_json> environments_;
  // What is still to be compared. A run that went on from a checkpoint may have
  // been at a place several times.
  std::multimap<Place, loop::StateRecord> places_;
  int64_t compared_ = 0;  // places
  int64_t last_equal_step_ = -1;
  std::optional<Difference> difference_;
};

// The states of rank `rank` in the run in `run_dir` up to step `until`, or all.
// Nullopt, with an error appended, if there are none.
std::optional<ReplayLog> OpenReplay(const std::string& run_dir, int rank,
                                    std::optional<int64_t> until,
                                    Problems& problems);

// What the recipe of a run needs to begin where the run began: at its start, if
// it was resumed later only, else at the checkpoint that it took up first.
std::vector<std::string> ReplayOverrides(const ReplayLog& log);

// Trains until something differs or all states were compared, and tells that to
// `out`; nothing else is written. Returns the exit code: 0 if all states are
// equal, 1 if not, 128 + the number of a signal that broke it off.
int Replay(ReplayLog log, loop::Trainer& trainer, std::ostream& out);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_REPLAY_H_
