// state_hashes.jsonl: what a run's state was, step by step, for --replay.
//
//   {"kind":"header","schema":1}
//   {"kind":"start","environment":{"threads":1,"cpu":"avx2",...}}
//   {"kind":"state","rank":0,"epoch":0,"batch":10,"step":10,
//    "parts":{"net/conv1.weight":"3f2a...",...}}
//
// A run writes it where its recipe sets training_hyperparams.state_hash_every:
// a state before the first step, after every so many steps, and after the last
// epoch; a start per process that worked on the run. Rank 0 writes
// state_hashes.jsonl, rank N state_hashes.rankN.jsonl. It is no part of
// metrics.jsonl since a state of a large model takes some ten kilobytes.
//
// One thread's.
#ifndef SLIPWAY_TRAINER_REPLAY_LOG_H_
#define SLIPWAY_TRAINER_REPLAY_LOG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "trainer/loop/state_hash.h"
#include "trainer/nn/module.h"

namespace slipway {

// The file's path in the folder of a run.
std::string ReplayLogPath(const std::string& run_dir, int rank);

// What results depend on beside the recipe: threads, cpu (the widest
// instruction set), device (where `model` lies), world_size, libtorch, slipway.
nlohmann::ordered_json ReplayEnvironment(const nn::Module& model);

class ReplayLogWriter : public loop::StateObserver {
 public:
  // Appends to the file at `path` a header if it is new, and a start. A half
  // line that a killed run left at the end is cut off first. It wants the state
  // after every `every`-th optimizer step.
  static absl::StatusOr<std::unique_ptr<ReplayLogWriter>> Open(
      const std::string& path, const nlohmann::ordered_json& environment,
      int64_t every);
  ~ReplayLogWriter() override;
  ReplayLogWriter(const ReplayLogWriter&) = delete;
  ReplayLogWriter& operator=(const ReplayLogWriter&) = delete;

  bool Wants(const loop::StateRecord& place, bool edge) override;
  absl::Status Observe(const loop::StateRecord& record) override;

 private:
  ReplayLogWriter(std::string path, int fd, int64_t every);
  absl::Status WriteLine(const nlohmann::ordered_json& object);

  std::string path_;
  int fd_;
  int64_t every_;
};

struct ReplayLog {
  // Of each start, in order.
  std::vector<nlohmann::ordered_json> environments;
  // In order. A run that died and went on has states twice.
  std::vector<loop::StateRecord> records;
};

// A half line at the end is left out. NOT_FOUND if there is no such file, and
// INVALID_ARGUMENT naming the line that is none of such a file, or if there is
// no state.
absl::StatusOr<ReplayLog> ReadReplayLog(const std::string& path);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_REPLAY_LOG_H_
