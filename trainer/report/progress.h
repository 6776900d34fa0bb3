// How far a loop is, on a console: what the trainer shows, for loops of your
// own.
//
//   Progress progress(std::cerr, ConsoleOptionsFor(STDERR_FILENO),
//                     "epoch 1/3", batches);
//   while (...) {
//     ...
//     progress.Advance({{"loss", loss}});
//   }
//
//   epoch 1/3  [==========>           ]  24/45  loss 0.1234  31/s
//
// A terminal has one line, which is drawn again and goes away at the end; logs
// get a line every few seconds. One thread's.
#ifndef SLIPWAY_TRAINER_REPORT_PROGRESS_H_
#define SLIPWAY_TRAINER_REPORT_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace slipway {

struct ConsoleOptions {
  // kBar redraws one line (terminals); kLines prints a line every few seconds
  // (logs); kNone prints none.
  enum class Progress { kBar, kLines, kNone };
  Progress progress = Progress::kLines;
  int width = 80;
  // Seconds of a steady clock; tests pass their own.
  std::function<double()> clock = {};
};

// kBar on a terminal, kLines otherwise, for file descriptor `fd`; the
// terminal's width.
ConsoleOptions ConsoleOptionsFor(int fd);

// "[=====>    ]", 24 characters in all: `done` of `total`.
std::string ProgressBar(int64_t done, int64_t total);
// "950", "9.1k", "1.2M".
std::string ShortNumber(double value);

// The line itself.
class ProgressLine {
 public:
  // `out` must outlive it.
  ProgressLine(std::ostream& out, ConsoleOptions options);

  // Whether it is time to Show() something new; then not again for a while.
  bool IsDue();
  void Show(const std::string& line);
  // Makes room for other text.
  void Clear();
  // By the options' clock.
  double seconds() const { return options_.clock(); }

 private:
  std::ostream& out_;
  ConsoleOptions options_;
  double last_shown_ = -1e9;
  size_t shown_width_ = 0;
};

class Progress {
 public:
  // Of `total` rounds, batches mostly. `out` must outlive it. Of several ranks
  // one should show anything; the others' options say kNone.
  Progress(std::ostream& out, ConsoleOptions options, std::string title,
           int64_t total);
  // Clears the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // One more is done; `values` are shown beside it.
  void Advance(const std::vector<std::pair<std::string, double>>& values = {});

 private:
  ProgressLine line_;
  const std::string title_;
  const int64_t total_;
  const double started_;
  int64_t done_ = 0;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_REPORT_PROGRESS_H_
