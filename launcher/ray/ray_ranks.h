// Ranks on the nodes of a Ray cluster, each the child of an agent there.
//
//   RayRanks ranks(std::move(connection), seats);
//   Supervise(ranks, options, problems);
//
// A seat is lost when Ray says so, when the head does not answer, when the
// driver ends, or when its agent, which gives a sign of life every second, has
// been silent for kSilence: Ray itself takes up to a minute for some of these.
#ifndef SLIPWAY_LAUNCHER_RAY_RAY_RANKS_H_
#define SLIPWAY_LAUNCHER_RAY_RAY_RANKS_H_

#include <memory>
#include <string>
#include <vector>

#include "launcher/binding/binding.h"
#include "launcher/ray/connection.h"
#include "launcher/supervisor/ranks.h"

namespace slipway::launcher {

// Where a rank sits.
struct RankSeat {
  int seat = 0;
  std::string node;  // for messages
  Binding binding = Binding({}, {});
};

class RayRanks : public Ranks {
 public:
  static constexpr absl::Duration kSilence = absl::Seconds(15);
  // After SIGKILL, and after Finish: then an agent is given up.
  static constexpr absl::Duration kLastWait = absl::Seconds(5);

  // `seats` by rank; their agents have been told to run.
  RayRanks(std::unique_ptr<Connection> connection, std::vector<RankSeat> seats);

  int size() const override { return static_cast<int>(ranks_.size()); }
  const Binding& Wanted(int rank) const override {
    return ranks_[static_cast<size_t>(rank)].place.binding;
  }
  std::vector<pollfd> Watched() const override {
    return connection_->Watched();
  }
  absl::Time Deadline() const override;
  std::vector<RankEvent> Take() override;
  void Signal(int rank, int signal) override;
  void Describe(int rank) override;
  void Finish() override;
  bool IsOpen() const override;

 private:
  struct Rank {
    RankSeat place;
    absl::Time last_heard;
    bool out_open = true;
    bool err_open = true;
    bool ended = false;  // its agent, too
    bool lost = false;

    bool open() const { return !lost && !ended; }
  };

  void Translate(const messages::Message& message);
  void TranslateOfRank(int rank, const messages::Message& message);
  void Lose(int rank, const std::string& why);
  void LoseAll(const std::string& why);
  void CheckSilence(absl::Time now);

  std::unique_ptr<Connection> connection_;
  std::vector<Rank> ranks_;
  std::vector<int> rank_of_seat_;
  std::vector<RankEvent> events_;
  absl::Time give_up_ = absl::InfiniteFuture();
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_RAY_RAY_RANKS_H_
