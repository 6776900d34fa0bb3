#include "launcher/supervisor/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "launcher/supervisor/console.h"
#include "launcher/supervisor/hang.h"
#include "launcher/supervisor/oom.h"
#include "launcher/supervisor/output.h"
#include "launcher/supervisor/pipes.h"
#include "launcher/supervisor/signals.h"

namespace slipway::launcher {
namespace {

constexpr size_t kTailLines = 20;
constexpr char kHeartbeatVariable[] = "SLIPWAY_HEARTBEAT_FD";

// One end of a rank's stream, and what is made of it.
struct Stream {
  Descriptor fd;
  std::unique_ptr<RankOutput> output;
};

// The ranks that the console shows.
std::vector<int> ShownRanks(const SupervisorOptions& options, size_t ranks) {
  if (options.console_ranks) return *options.console_ranks;
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

struct Rank {
  RankReport report;
  Stream out;
  Stream err;
  Descriptor heartbeat;
  absl::Time last_beat = absl::InfiniteFuture();  // until the first one
  bool running = false;
};

class Supervision {
 public:
  Supervision(std::vector<RankProgram> programs,
              const SupervisorOptions& options, Problems& problems)
      : programs_(std::move(programs)),
        options_(options),
        problems_(problems),
        ranks_(programs_.size()),
        out_({ShownRanks(options, ranks_.size()), options.prefix}, options.out),
        err_({ShownRanks(options, ranks_.size()), options.prefix},
             options.err) {
    report_.attempt = options.attempt;
  }

  absl::StatusOr<AttemptReport> Run() {
    absl::Status status = MakePipes();
    if (!status.ok()) return status;
    absl::StatusOr<Reaper> reaper = Reaper::Start(programs_, options_.bind);
    if (!reaper.ok()) return reaper.status();
    write_ends_.clear();
    reaper_.emplace(*std::move(reaper));
    for (Rank& rank : ranks_) rank.running = true;
    while (AnyRunning()) Turn();
    // Whoever still holds a pipe is killed with the reaper, so the pipes end.
    reaper_->Finish();
    while (AnyStreamOpen()) Turn();
    out_.Flush(absl::InfiniteFuture());
    err_.Flush(absl::InfiniteFuture());
    return Finished();
  }

 private:
  absl::StatusOr<int> WriteEnd(Descriptor& read_end) {
    absl::StatusOr<Pipe> pipe = MakePipe();
    if (!pipe.ok()) return pipe.status();
    read_end = std::move(pipe->read);
    write_ends_.push_back(std::move(pipe->write));
    return write_ends_.back().get();
  }

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

  absl::Status MakePipes() {
    for (size_t i = 0; i < ranks_.size(); ++i) {
      absl::Status status = MakePipesOf(i);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status MakePipesOf(size_t i) {
    Rank& rank = ranks_[i];
    RankProgram& program = programs_[i];
    rank.report.rank = static_cast<int>(i);
    rank.out.output = MakeOutput(i, "out", out_, 0);
    rank.err.output = MakeOutput(i, "err", err_, kTailLines);
    absl::StatusOr<int> out = WriteEnd(rank.out.fd);
    if (!out.ok()) return out.status();
    absl::StatusOr<int> err = WriteEnd(rank.err.fd);
    if (!err.ok()) return err.status();
    absl::StatusOr<int> beat = WriteEnd(rank.heartbeat);
    if (!beat.ok()) return beat.status();
    // A rank must not wait for a launcher that is stopped.
    MakeNonBlocking(*beat);
    program.stdout_fd = *out;
    program.stderr_fd = *err;
    program.inherited_fds.push_back(*beat);
    program.environment.push_back(absl::StrCat(kHeartbeatVariable, "=", *beat));
    if (i == 0) return absl::OkStatus();  // keeps the launcher's stdin
    absl::StatusOr<Pipe> empty = MakePipe();
    if (!empty.ok()) return empty.status();
    program.stdin_fd = empty->read.get();
    write_ends_.push_back(std::move(empty->read));
    return absl::OkStatus();
  }

  bool AnyRunning() const {
    return std::any_of(ranks_.begin(), ranks_.end(),
                       [](const Rank& rank) { return rank.running; });
  }
  bool AnyStreamOpen() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
      return rank.out.fd || rank.err.fd;
    });
  }

  // One round: waits for anything to happen, and deals with all of it.
  void Turn() {
    std::vector<pollfd> fds = {{signals_.fd(), POLLIN, 0},
                               {reaper_->fd(), POLLIN, 0}};
    for (const Rank& rank : ranks_) {
      for (int fd :
           {rank.out.fd.get(), rank.err.fd.get(), rank.heartbeat.get()}) {
        fds.push_back({fd, POLLIN, 0});  // poll passes over negative ones
      }
    }
    poll(fds.data(), fds.size(), Timeout());
    const absl::Time now = absl::Now();
    for (Rank& rank : ranks_) {
      Drain(rank.out, now);
      Drain(rank.err, now);
      TakeHeartbeats(rank);
    }
    out_.Flush(now);
    err_.Flush(now);
    while (const std::optional<int> signal = signals_.Next()) {
      PassOn(*signal);
    }
    if (fds[1].revents != 0) TakeEvent();
    CheckDeadlines();
  }

  int Timeout() const {
    absl::Time next = std::min({deadline_, out_.Deadline(), err_.Deadline()});
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

  static void Drain(Stream& stream, absl::Time now) {
    char bytes[64 << 10];
    while (stream.fd) {
      const ssize_t got = read(stream.fd.get(), bytes, sizeof(bytes));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {
        stream.output->Finish(now);
        stream.fd.Close();
        return;
      }
      stream.output->Take({bytes, static_cast<size_t>(got)}, now);
    }
  }

  void TakeHeartbeats(Rank& rank) {
    char bytes[4096];
    while (rank.heartbeat) {
      const ssize_t got = read(rank.heartbeat.get(), bytes, sizeof(bytes));
      if (got == 0) rank.heartbeat.Close();
      if (got <= 0) return;
      rank.last_beat = absl::Now();
    }
  }

  void PassOn(int signal) {
    if (signal == SIGTSTP) return Suspend();
    if (signal == SIGCONT) ExcuseHeartbeats();
    reaper_->Signal(-1, signal);
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
    reaper_->Signal(-1, SIGSTOP);
    raise(SIGSTOP);
  }

  void ExcuseHeartbeats() {
    for (Rank& rank : ranks_) {
      if (rank.last_beat != absl::InfiniteFuture())
        rank.last_beat = absl::Now();
    }
  }

  void TakeEvent() {
    const std::optional<ReaperEvent> event = reaper_->Receive();
    if (!event) return LoseReaper();
    Rank& rank = ranks_[static_cast<size_t>(event->rank)];
    switch (event->kind) {
      case ReaperEvent::Kind::kStarted:
        rank.report.pid = event->pid;
        rank.report.cpus_bound = event->binding.cpus();
        CheckBinding(event->rank,
                     programs_[static_cast<size_t>(event->rank)].binding,
                     event->binding, options_.bind, problems_);
        return;
      case ReaperEvent::Kind::kStartFailed:
        return FailToStart(rank, *event);
      case ReaperEvent::Kind::kExited:
        return Exited(rank, event->wait_status);
    }
  }

  double Elapsed() const { return absl::ToDoubleSeconds(absl::Now() - start_); }

  void FailToStart(Rank& rank, const ReaperEvent& event) {
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
    Fail(rank, {.reason = Failure::Reason::kStart,
                .exit_code = 127,
                .message = std::move(message)});
    // Without a process there is no end to wait for.
    if (event.pid == 0) rank.running = false;
  }

  void Exited(Rank& rank, int wait_status) {
    rank.running = false;
    rank.report.seconds = Elapsed();
    if (WIFSIGNALED(wait_status)) {
      rank.report.signal = WTERMSIG(wait_status);
    } else {
      rank.report.exit_code = WEXITSTATUS(wait_status);
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
    if (rank.report.signal == SIGKILL && CountOomKills() > oom_kills_) {
      failure.reason = Failure::Reason::kOutOfMemory;
      failure.message =
          "SIGKILL from the kernel, which was out of memory; use a smaller "
          "batch_size, fewer processes or fewer num_workers";
    }
    Fail(rank, std::move(failure));
  }

  // The first failure ends the others too.
  void Fail(Rank& rank, Failure failure) {
    if (report_.first_failure || stopping_) return;
    failure.attempt = options_.attempt;
    failure.rank = rank.report.rank;
    failure.seconds = Elapsed();
    report_.first_failure = std::move(failure);
    stopping_ = true;
    reaper_->Signal(-1, SIGTERM);
    deadline_ = absl::Now() + options_.grace;
  }

  // Nobody but root or an administrator ends the reaper; the ranks die with it.
  void LoseReaper() {
    for (Rank& rank : ranks_) {
      if (!rank.running) continue;
      Fail(rank,
           {.reason = Failure::Reason::kNodeLost,
            .exit_code = 1,
            .message = "the process that watches over the ranks is gone"});
      rank.running = false;
    }
  }

  void CheckDeadlines() {
    const absl::Time now = absl::Now();
    if (now >= deadline_) {
      reaper_->Signal(-1, SIGKILL);
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
                                  absl::FormatDuration(now - rank.last_beat)),
          .stack = DescribeThreads(rank.report.pid)};
      Fail(rank, std::move(failure));
      reaper_->Signal(rank.report.rank, SIGKILL);
    }
  }

  AttemptReport Finished() {
    report_.seconds = Elapsed();
    for (Rank& rank : ranks_) {
      rank.report.stderr_tail = rank.err.output->tail();
      report_.ranks.push_back(rank.report);
    }
    if (report_.first_failure) {
      const auto failed = static_cast<size_t>(report_.first_failure->rank);
      report_.first_failure->stderr_tail = report_.ranks[failed].stderr_tail;
    }
    return std::move(report_);
  }

  std::vector<RankProgram> programs_;
  const SupervisorOptions& options_;
  Problems& problems_;
  ForwardedSignals signals_;
  std::vector<Rank> ranks_;
  ConsoleLines out_;
  ConsoleLines err_;
  std::vector<Descriptor> write_ends_;
  std::optional<Reaper> reaper_;
  AttemptReport report_;
  const absl::Time start_ = absl::Now();
  absl::Time deadline_ = absl::InfiniteFuture();
  bool stopping_ = false;
  const int64_t oom_kills_ = CountOomKills();
};

}  // namespace

absl::StatusOr<AttemptReport> Supervise(std::vector<RankProgram> programs,
                                        const SupervisorOptions& options,
                                        Problems& problems) {
  SupervisorOptions complete = options;
  if (complete.out == nullptr) complete.out = &std::cout;
  if (complete.err == nullptr) complete.err = &std::cerr;
  return Supervision(std::move(programs), complete, problems).Run();
}

}  // namespace slipway::launcher
