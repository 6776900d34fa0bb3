// A rank's output: whole lines with a prefix for the console, the raw bytes in
// a file, and the last lines for the report.
//
//   RankOutput out({.prefix = "[1] ", .file = "rank1.err", .keep = 20});
//   out.Take(bytes, console);    // whatever read() gave
//   out.Finish(console);         // a last line without newline
//
// Lines of several ranks never mix: the console gets whole lines only. A line
// longer than 64 KiB is passed on in pieces.
#ifndef SLIPWAY_LAUNCHER_SUPERVISOR_OUTPUT_H_
#define SLIPWAY_LAUNCHER_SUPERVISOR_OUTPUT_H_

#include <deque>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::launcher {

struct OutputOptions {
  std::string prefix;
  // Where the raw bytes go; "" for nowhere.
  std::string file;
  // Whether the console sees this rank.
  bool on_console = true;
  // How many last lines are remembered.
  size_t keep = 0;
};

class RankOutput {
 public:
  explicit RankOutput(OutputOptions options);

  void Take(std::string_view bytes, std::ostream& console);
  void Finish(std::ostream& console);
  std::vector<std::string> tail() const { return {tail_.begin(), tail_.end()}; }

 private:
  void Line(std::string_view line, std::ostream& console);

  OutputOptions options_;
  std::ofstream file_;
  std::string partial_;
  std::deque<std::string> tail_;
};

// "[{rank}] " with {rank} and {host} filled in.
std::string ExpandPrefix(const std::string& format, int rank);

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_SUPERVISOR_OUTPUT_H_
