#include "trainer/report/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace slipway {
namespace {

constexpr double kBarInterval = 0.1;  // seconds between two redraws
constexpr double kLineInterval = 5;
constexpr int kBarWidth = 24;

double SteadySeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ConsoleOptions ConsoleOptionsFor(int fd) {
  ConsoleOptions options;
  if (!isatty(fd)) return options;
  options.progress = ConsoleOptions::Progress::kBar;
  winsize size = {};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = size.ws_col;
  }
  return options;
}

std::string ProgressBar(int64_t done, int64_t total) {
  const double share = static_cast<double>(done) / std::max<double>(1, total);
  const int inner = kBarWidth - 2;
  const int filled =
      std::clamp(static_cast<int>(std::lround(share * inner)), 0, inner);
  std::string bar(static_cast<size_t>(filled), '=');
  if (filled > 0 && filled < inner) bar.back() = '>';
  bar.append(static_cast<size_t>(inner - filled), ' ');
  return absl::StrCat("[", bar, "]");
}

std::string ShortNumber(double value) {
  if (value >= 1e6) return absl::StrFormat("%.1fM", value / 1e6);
  if (value >= 1e3) return absl::StrFormat("%.1fk", value / 1e3);
  return absl::StrFormat("%.0f", value);
}

ProgressLine::ProgressLine(std::ostream& out, ConsoleOptions options)
    : out_(out), options_(std::move(options)) {
  if (!options_.clock) options_.clock = SteadySeconds;
}

bool ProgressLine::IsDue() {
  using Progress = ConsoleOptions::Progress;
  if (options_.progress == Progress::kNone) return false;
  const double interval =
      options_.progress == Progress::kBar ? kBarInterval : kLineInterval;
  const double now = seconds();
  if (now - last_shown_ < interval) return false;
  last_shown_ = now;
  return true;
}

void ProgressLine::Show(const std::string& line) {
  if (options_.progress != ConsoleOptions::Progress::kBar) {
    out_ << line << "\n" << std::flush;
    return;
  }
  // One column stays free: some terminals wrap a full line.
  const auto room = static_cast<size_t>(std::max(options_.width - 1, 1));
  std::string fitted = line.substr(0, room);
  shown_width_ = std::max(shown_width_, fitted.size());
  fitted.resize(shown_width_, ' ');
  out_ << "\r" << fitted << std::flush;
}

void ProgressLine::Clear() {
  if (shown_width_ == 0) return;
  out_ << "\r" << std::string(shown_width_, ' ') << "\r" << std::flush;
  shown_width_ = 0;
}

Progress::Progress(std::ostream& out, ConsoleOptions options, std::string title,
                   int64_t total)
    : line_(out, std::move(options)),
      title_(std::move(title)),
      total_(total),
      started_(line_.seconds()) {}

Progress::~Progress() { line_.Clear(); }

void Progress::Advance(
    const std::vector<std::pair<std::string, double>>& values) {
  ++done_;
  if (!line_.IsDue()) return;
  std::string text = absl::StrCat(title_, "  ", ProgressBar(done_, total_),
                                  "  ", done_, "/", total_);
  for (const auto& [name, value] : values) {
    absl::StrAppendFormat(&text, "  %s %.4f", name, value);
  }
  const double spent = line_.seconds() - started_;
  if (spent > 0) {
    absl::StrAppend(&text, "  ",
                    ShortNumber(static_cast<double>(done_) / spent), "/s");
  }
  line_.Show(text);
}

}  // namespace slipway
