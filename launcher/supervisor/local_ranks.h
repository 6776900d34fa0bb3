// Ranks on this machine: children of a reaper, with pipes for their output and
// their heartbeats.
//
//   auto ranks = LocalRanks::Start(std::move(programs), BindMode::kStrict);
//   Supervise(**ranks, options, problems);
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_LOCAL_RANKS_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_LOCAL_RANKS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "launcher/binding/binding.h"
#include "launcher/supervisor/pipes.h"
#include "launcher/supervisor/ranks.h"
#include "launcher/supervisor/reaper.h"

namespace slipway::launcher {

class LocalRanks : public Ranks {
 public:
  // `programs` without descriptors for output: the pipes are made here. Rank 0
  // reads what its stdin_fd says, or else this process's stdin; the others
  // none. Forks; call it before any thread is started.
  static absl::StatusOr<std::unique_ptr<LocalRanks>> Start(
      std::vector<RankProgram> programs, BindMode mode);

  int size() const override { return static_cast<int>(ranks_.size()); }
  const Binding& Wanted(int rank) const override {
    return programs_[static_cast<size_t>(rank)].binding;
  }
  std::vector<pollfd> Watched() const override;
  std::vector<RankEvent> Take() override;
  void Signal(int rank, int signal) override;
  void Describe(int rank) override;
  void Finish() override;
  bool IsOpen() const override;

 private:
  struct Rank {
    Descriptor out;
    Descriptor err;
    Descriptor heartbeat;
    pid_t pid = 0;
  };

  explicit LocalRanks(std::vector<RankProgram> programs);

  absl::Status MakePipesOf(size_t rank);
  absl::StatusOr<int> WriteEnd(Descriptor& read_end);
  void Drain(int rank, Descriptor& stream, RankEvent::Kind bytes,
             RankEvent::Kind end);
  void TakeHeartbeats(int rank);
  void TakeReaperEvent();
  void Started(const ReaperEvent& event);
  void StartFailed(const ReaperEvent& event);

  std::vector<RankProgram> programs_;
  std::vector<Rank> ranks_;
  std::vector<Descriptor> write_ends_;
  std::optional<Reaper> reaper_;
  bool reaper_is_gone_ = false;
  std::vector<RankEvent> events_;
  const int64_t oom_kills_;
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_LOCAL_RANKS_H_
