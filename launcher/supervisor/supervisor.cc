#include "launcher/supervisor/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "launcher/supervisor/console.h"
#include "launcher/supervisor/local_ranks.h"
#include "launcher/supervisor/output.h"
#include "launcher/supervisor/signals.h"

namespace slipway::launcher {
namespace {

constexpr size_t kTailLines = 20;

// The ranks that the console shows.
std::vector<int> ShownRanks(const SupervisorOptions& options, size_t ranks) {
  if (options.console_ranks) return *options.console_ranks;
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

struct Rank {
  RankReport report;
  std::unique_ptr<RankOutput> out;
  std::unique_ptr<RankOutput> err;
  absl::Time last_beat = absl::InfiniteFuture();  // until the first one
  bool running = true;
};

class Supervision {
 public:
  Supervision(Ranks& host, const SupervisorOptions& options, Problems& problems)
      : host_(host),
        options_(options),
        problems_(problems),
        ranks_(static_cast<size_t>(host.size())),
        out_({ShownRanks(options, ranks_.size()), options.prefix}, options.out),
        err_({ShownRanks(options, ranks_.size()), options.prefix},
             options.err) {
    report_.attempt = options.attempt;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].report.rank = static_cast<int>(i);
      ranks_[i].out = MakeOutput(i, "out", out_, 0);
      ranks_[i].err = MakeOutput(i, "err", err_, kTailLines);
    }
  }

  AttemptReport Run() {
    while (AnyRunning()) Turn();
    host_.Finish();
    while (host_.IsOpen()) Turn();
    out_.Flush(absl::InfiniteFuture());
    err_.Flush(absl::InfiniteFuture());
    return Finished();
  }

 private:
  std::unique_ptr<RankOutput> MakeOutput(size_t rank, const char* ending,
                                         ConsoleLines& console,
                                         size_t keep) const {
    std::string file =
        options_.log_dir.empty()
            ? ""
            : absl::StrCat(options_.log_dir, "/rank", rank, ".", ending);
    return std::make_unique<RankOutput>(
        OutputOptions{.rank = static_cast<int>(rank),
                      .file = std::move(file),
                      .keep = keep},
        &console);
  }

  bool AnyRunning() const {
    return std::any_of(ranks_.begin(), ranks_.end(),
                       [](const Rank& rank) { return rank.running; });
  }

  // One round: waits for anything to happen, and deals with all of it.
  void Turn() {
    std::vector<pollfd> fds = host_.Watched();
    fds.push_back({signals_.fd(), POLLIN, 0});
    poll(fds.data(), fds.size(), Timeout());
    const absl::Time now = absl::Now();
    for (const RankEvent& event : host_.Take()) Handle(event, now);
    out_.Flush(now);
    err_.Flush(now);
    while (const std::optional<int> signal = signals_.Next()) {
      PassOn(*signal);
    }
    CheckDeadlines();
  }

  int Timeout() const {
    absl::Time next = std::min(
        {deadline_, host_.Deadline(), out_.Deadline(), err_.Deadline()});
    if (options_.heartbeat_timeout > absl::ZeroDuration()) {
      for (const Rank& rank : ranks_) {
        if (rank.running) {
          next = std::min(next, rank.last_beat + options_.heartbeat_timeout);
        }
      }
    }
    if (next == absl::InfiniteFuture()) return -1;
    const int64_t left = absl::ToInt64Milliseconds(next - absl::Now());
    return static_cast<int>(std::clamp<int64_t>(left + 1, 0, 1 << 30));
  }

  void PassOn(int signal) {
    if (signal == SIGTSTP) return Suspend();
    if (signal == SIGCONT) ExcuseHeartbeats();
    host_.Signal(-1, signal);
    if (signal != SIGINT && signal != SIGTERM) return;
    report_.interrupted = true;
    // The second one does not wait.
    deadline_ = std::min(
        deadline_, stopping_ ? absl::Now() : absl::Now() + options_.grace);
    stopping_ = true;
  }

  // The ranks have no terminal that could stop them. SIGCONT, when it comes, is
  // passed on as any other signal.
  void Suspend() {
    host_.Signal(-1, SIGSTOP);
    raise(SIGSTOP);
  }

  void ExcuseHeartbeats() {
    for (Rank& rank : ranks_) {
      if (rank.last_beat != absl::InfiniteFuture())
        rank.last_beat = absl::Now();
    }
  }

  void Handle(const RankEvent& event, absl::Time now) {
    using Kind = RankEvent::Kind;
    Rank& rank = ranks_[static_cast<size_t>(event.rank)];
    switch (event.kind) {
      case Kind::kStarted:
        rank.report.pid = event.pid;
        rank.report.cpus_bound = event.binding.cpus();
        CheckBinding(event.rank, host_.Wanted(event.rank), event.binding,
                     options_.bind, problems_);
        return;
      case Kind::kStartFailed:
        return FailToStart(rank, event);
      case Kind::kOut:
        return rank.out->Take(event.text, now);
      case Kind::kErr:
        return rank.err->Take(event.text, now);
      case Kind::kOutEnd:
        return rank.out->Finish(now);
      case Kind::kErrEnd:
        return rank.err->Finish(now);
      case Kind::kBeat:
        rank.last_beat = now;
        return;
      case Kind::kStack:
        return TakeStack(rank, event);
      case Kind::kExited:
        return Exited(rank, event);
      case Kind::kLost:
        return Lose(rank, event);
    }
  }

  double Elapsed() const { return absl::ToDoubleSeconds(absl::Now() - start_); }

  void FailToStart(Rank& rank, const RankEvent& event) {
    Fail(rank, {.reason = Failure::Reason::kStart,
                .exit_code = 127,
                .message = event.text});
    if (event.ended) rank.running = false;
  }

  void TakeStack(const Rank& rank, const RankEvent& event) {
    std::optional<Failure>& failure = report_.first_failure;
    if (failure && failure->rank == rank.report.rank) {
      failure->stack = event.text;
    }
  }

  void Exited(Rank& rank, const RankEvent& event) {
    rank.running = false;
    rank.report.seconds = Elapsed();
    if (WIFSIGNALED(event.wait_status)) {
      rank.report.signal = WTERMSIG(event.wait_status);
    } else {
      rank.report.exit_code = WEXITSTATUS(event.wait_status);
    }
    rank.report.ended_by_launcher = stopping_;
    if (!rank.report.failed() || stopping_) return;
    Failure failure = {.reason = rank.report.signal ? Failure::Reason::kSignal
                                                    : Failure::Reason::kExit,
                       .exit_code = rank.report.exit_code,
                       .signal = rank.report.signal};
    failure.message = rank.report.signal
                          ? SignalName(*rank.report.signal)
                          : absl::StrCat("exit code ", *rank.report.exit_code);
    if (rank.report.signal == SIGKILL && event.out_of_memory) {
      failure.reason = Failure::Reason::kOutOfMemory;
      failure.message =
          "SIGKILL from the kernel, which was out of memory; use a smaller "
          "batch_size, fewer processes or fewer num_workers";
    }
    Fail(rank, std::move(failure));
  }

  void Lose(Rank& rank, const RankEvent& event) {
    if (!rank.running) return;
    Fail(rank, {.reason = Failure::Reason::kNodeLost,
                .exit_code = 1,
                .message = event.text});
    rank.running = false;
    rank.report.seconds = Elapsed();
    rank.report.ended_by_launcher = stopping_;
  }

  // The first failure ends the others too.
  void Fail(Rank& rank, Failure failure) {
    if (report_.first_failure || stopping_) return;
    failure.attempt = options_.attempt;
    failure.rank = rank.report.rank;
    failure.seconds = Elapsed();
    report_.first_failure = std::move(failure);
    stopping_ = true;
    host_.Signal(-1, SIGTERM);
    deadline_ = absl::Now() + options_.grace;
  }

  void CheckDeadlines() {
    const absl::Time now = absl::Now();
    if (now >= deadline_) {
      host_.Signal(-1, SIGKILL);
      deadline_ = absl::InfiniteFuture();
    }
    if (options_.heartbeat_timeout <= absl::ZeroDuration()) return;
    for (Rank& rank : ranks_) {
      if (!rank.running || stopping_ ||
          now < rank.last_beat + options_.heartbeat_timeout) {
        continue;
      }
      Failure failure = {
          .reason = Failure::Reason::kHeartbeat,
          .exit_code = 1,
          .message = absl::StrCat("no heartbeat for ",
                                  absl::FormatDuration(now - rank.last_beat))};
      host_.Describe(rank.report.rank);  // before any signal reaches it
      Fail(rank, std::move(failure));
      host_.Signal(rank.report.rank, SIGKILL);
    }
  }

  AttemptReport Finished() {
    report_.seconds = Elapsed();
    for (Rank& rank : ranks_) {
      rank.report.stderr_tail = rank.err->tail();
      report_.ranks.push_back(rank.report);
    }
    if (report_.first_failure) {
      const auto failed = static_cast<size_t>(report_.first_failure->rank);
      report_.first_failure->stderr_tail = report_.ranks[failed].stderr_tail;
    }
    return std::move(report_);
  }

  Ranks& host_;
  const SupervisorOptions& options_;
  Problems& problems_;
  ForwardedSignals signals_;
  std::vector<Rank> ranks_;
  ConsoleLines out_;
  ConsoleLines err_;
  AttemptReport report_;
  const absl::Time start_ = absl::Now();
  absl::Time deadline_ = absl::InfiniteFuture();
  bool stopping_ = false;
};

}  // namespace

AttemptReport Supervise(Ranks& ranks, const SupervisorOptions& options,
                        Problems& problems) {
  SupervisorOptions complete = options;
  if (complete.out == nullptr) complete.out = &std::cout;
  if (complete.err == nullptr) complete.err = &std::cerr;
  return Supervision(ranks, complete, problems).Run();
}

absl::StatusOr<AttemptReport> Supervise(std::vector<RankProgram> programs,
                                        const SupervisorOptions& options,
                                        Problems& problems) {
  absl::StatusOr<std::unique_ptr<LocalRanks>> ranks =
      LocalRanks::Start(std::move(programs), options.bind);
  if (!ranks.ok()) return ranks.status();
  return Supervise(**ranks, options, problems);
}

}  // namespace slipway::launcher
