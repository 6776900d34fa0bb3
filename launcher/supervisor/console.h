// What the console shows of all ranks' lines: each with its rank before it, and
// what several ranks say alike only once.
//
//   ConsoleLines console({.ranks = {0, 1}}, &std::cout);
//   console.Add(0, "epoch 1", now);
//   console.Add(1, "epoch 1", now);
//   console.Flush(now);             // "[0-1] epoch 1"
//
// A line waits for its like from the other ranks, but never for longer than
// kPatience, and not at all while every other rank has another line waiting.
// Lines of one rank stay in their order, and lines are written whole. Not
// synchronised.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_CONSOLE_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_CONSOLE_H_

#include <deque>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace slipway::launcher {

struct ConsoleOptions {
  // Those that are shown; lines of others are dropped.
  std::vector<int> ranks;
  // {rank} becomes "1", or "0-2,5" for a line of several; {host} this machine.
  std::string prefix = "[{rank}] ";
};

class ConsoleLines {
 public:
  static constexpr absl::Duration kPatience = absl::Milliseconds(25);

  // `out` must outlive this.
  ConsoleLines(const ConsoleOptions& options, std::ostream* out);

  void Add(int rank, std::string_view line, absl::Time now);
  // No more lines will come from `rank`: nobody needs to wait for it.
  void End(int rank);
  // Writes the lines that need not wait any longer.
  void Flush(absl::Time now);
  // When Flush is due at the latest; InfiniteFuture if nothing waits.
  absl::Time Deadline() const;

 private:
  struct Line {
    std::string text;
    absl::Time arrived;
  };
  struct Source {
    std::deque<Line> waiting;
    bool ended = false;
  };

  bool IsReady(int rank, absl::Time now) const;
  void WriteHead(int rank);

  std::string prefix_;
  std::map<int, Source> sources_;
  std::ostream* out_;
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_CONSOLE_H_
