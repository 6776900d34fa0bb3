// A rank's output: the raw bytes in a file, whole lines for the console, and
// the last lines for the report.
//
//   RankOutput out({.rank = 1, .file = "rank1.err", .keep = 20}, &console);
//   out.Take(bytes, now);    // whatever read() gave
//   out.Finish(now);         // a last line without newline
//
// A line longer than 64 KiB is passed on in pieces. Not synchronised.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_OUTPUT_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_OUTPUT_H_

#include <deque>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "launcher/supervisor/console.h"

namespace slipway::launcher {

struct OutputOptions {
  int rank = 0;
  // Where the raw bytes go; "" for nowhere.
  std::string file;
  // How many last lines are remembered.
  size_t keep = 0;
};

class RankOutput {
 public:
  // `console` must outlive this.
  RankOutput(OutputOptions options, ConsoleLines* console);

  void Take(std::string_view bytes, absl::Time now);
  void Finish(absl::Time now);
  std::vector<std::string> tail() const { return {tail_.begin(), tail_.end()}; }

 private:
  void Line(std::string_view line, absl::Time now);

  OutputOptions options_;
  ConsoleLines* console_;
  std::ofstream file_;
  std::string partial_;
  std::deque<std::string> tail_;
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_OUTPUT_H_
