#include "launcher/supervisor/local_ranks.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "launcher/supervisor/hang.h"
#include "launcher/supervisor/oom.h"

namespace slipway::launcher {
namespace {

constexpr char kHeartbeatVariable[] = "SLIPWAY_HEARTBEAT_FD";

}  // namespace

absl::StatusOr<std::unique_ptr<LocalRanks>> LocalRanks::Start(
    std::vector<RankProgram> programs, BindMode mode) {
  auto ranks = std::unique_ptr<LocalRanks>(new LocalRanks(std::move(programs)));
  for (size_t i = 0; i < ranks->ranks_.size(); ++i) {
    absl::Status status = ranks->MakePipesOf(i);
    if (!status.ok()) return status;
  }
  absl::StatusOr<Reaper> reaper = Reaper::Start(ranks->programs_, mode);
  if (!reaper.ok()) return reaper.status();
  ranks->write_ends_.clear();
  ranks->reaper_.emplace(*std::move(reaper));
  return ranks;
}

LocalRanks::LocalRanks(std::vector<RankProgram> programs)
    : programs_(std::move(programs)),
      ranks_(programs_.size()),
      oom_kills_(CountOomKills()) {}

absl::StatusOr<int> LocalRanks::WriteEnd(Descriptor& read_end) {
  absl::StatusOr<Pipe> pipe = MakePipe();
  if (!pipe.ok()) return pipe.status();
  read_end = std::move(pipe->read);
  write_ends_.push_back(std::move(pipe->write));
  return write_ends_.back().get();
}

absl::Status LocalRanks::MakePipesOf(size_t i) {
  Rank& rank = ranks_[i];
  RankProgram& program = programs_[i];
  absl::StatusOr<int> out = WriteEnd(rank.out);
  if (!out.ok()) return out.status();
  absl::StatusOr<int> err = WriteEnd(rank.err);
  if (!err.ok()) return err.status();
  absl::StatusOr<int> beat = WriteEnd(rank.heartbeat);
  if (!beat.ok()) return beat.status();
  // A rank must not wait for a launcher that is stopped.
  MakeNonBlocking(*beat);
  program.stdout_fd = *out;
  program.stderr_fd = *err;
  program.inherited_fds.push_back(*beat);
  program.environment.push_back(absl::StrCat(kHeartbeatVariable, "=", *beat));
  if (i == 0) return absl::OkStatus();  // see Start
  absl::StatusOr<Pipe> empty = MakePipe();
  if (!empty.ok()) return empty.status();
  program.stdin_fd = empty->read.get();
  write_ends_.push_back(std::move(empty->read));
  return absl::OkStatus();
}

std::vector<pollfd> LocalRanks::Watched() const {
  std::vector<pollfd> fds;
  if (reaper_ && !reaper_is_gone_) fds.push_back({reaper_->fd(), POLLIN, 0});
  for (const Rank& rank : ranks_) {
    // poll passes over negative ones.
    for (const Descriptor* one : {&rank.out, &rank.err, &rank.heartbeat}) {
      fds.push_back({one->get(), POLLIN, 0});
    }
  }
  return fds;
}

std::vector<RankEvent> LocalRanks::Take() {
  for (int i = 0; i < size(); ++i) {
    Rank& rank = ranks_[static_cast<size_t>(i)];
    Drain(i, rank.out, RankEvent::Kind::kOut, RankEvent::Kind::kOutEnd);
    Drain(i, rank.err, RankEvent::Kind::kErr, RankEvent::Kind::kErrEnd);
    TakeHeartbeats(i);
  }
  TakeReaperEvent();
  return std::exchange(events_, {});
}

void LocalRanks::Drain(int rank, Descriptor& stream, RankEvent::Kind bytes,
                       RankEvent::Kind end) {
  char buffer[64 << 10];
  while (stream) {
    const ssize_t got = read(stream.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      events_.push_back({.kind = end, .rank = rank});
      stream.Close();
      return;
    }
    events_.push_back({.kind = bytes,
                       .rank = rank,
                       .text = std::string(buffer, static_cast<size_t>(got))});
  }
}

void LocalRanks::TakeHeartbeats(int rank) {
  Descriptor& beats = ranks_[static_cast<size_t>(rank)].heartbeat;
  char buffer[4096];
  while (beats) {
    const ssize_t got = read(beats.get(), buffer, sizeof(buffer));
    if (got == 0) beats.Close();
    if (got <= 0) return;
    events_.push_back({.kind = RankEvent::Kind::kBeat, .rank = rank});
  }
}

// One, so that what a rank wrote before it ended is taken before its end.
void LocalRanks::TakeReaperEvent() {
  if (!reaper_ || reaper_is_gone_) return;
  pollfd ready = {reaper_->fd(), POLLIN, 0};
  if (poll(&ready, 1, 0) <= 0) return;
  const std::optional<ReaperEvent> event = reaper_->Receive();
  if (!event) {
    // Nobody but root or an administrator ends it; the ranks die with it.
    reaper_is_gone_ = true;
    for (int i = 0; i < size(); ++i) {
      events_.push_back(
          {.kind = RankEvent::Kind::kLost,
           .rank = i,
           .text = "the process that watches over the ranks is gone"});
    }
    return;
  }
  switch (event->kind) {
    case ReaperEvent::Kind::kStarted:
      return Started(*event);
    case ReaperEvent::Kind::kStartFailed:
      return StartFailed(*event);
    case ReaperEvent::Kind::kExited:
      events_.push_back({.kind = RankEvent::Kind::kExited,
                         .rank = event->rank,
                         .wait_status = event->wait_status,
                         .out_of_memory = CountOomKills() > oom_kills_});
  }
}

void LocalRanks::Started(const ReaperEvent& event) {
  ranks_[static_cast<size_t>(event.rank)].pid = event.pid;
  events_.push_back({.kind = RankEvent::Kind::kStarted,
                     .rank = event.rank,
                     .pid = event.pid,
                     .binding = event.binding});
}

void LocalRanks::StartFailed(const ReaperEvent& event) {
  const RankProgram& program = programs_[static_cast<size_t>(event.rank)];
  std::string message;
  if (event.error != 0) {
    message = absl::StrCat("cannot start ", program.argv[0], ": ",
                           std::strerror(event.error));
  } else {
    message = absl::StrCat(
        "cannot be bound to CPUs ", program.binding.cpus().ToString(),
        " (it would run on ", event.binding.cpus().ToString(),
        "); use --bind=best_effort to go on all the same");
  }
  // Without a process there is no end to wait for.
  events_.push_back({.kind = RankEvent::Kind::kStartFailed,
                     .rank = event.rank,
                     .ended = event.pid == 0,
                     .text = std::move(message)});
}

void LocalRanks::Signal(int rank, int signal) {
  if (reaper_) reaper_->Signal(rank, signal);
}

void LocalRanks::Describe(int rank) {
  events_.push_back(
      {.kind = RankEvent::Kind::kStack,
       .rank = rank,
       .text = DescribeThreads(ranks_[static_cast<size_t>(rank)].pid)});
}

void LocalRanks::Finish() {
  // Whoever still holds a pipe is killed with the reaper, so the pipes end.
  if (reaper_) reaper_->Finish();
  reaper_is_gone_ = true;
}

bool LocalRanks::IsOpen() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const Rank& rank) { return rank.out || rank.err; });
}

}  // namespace slipway::launcher
