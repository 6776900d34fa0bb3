#include "launcher/supervisor/output.h"

#include <utility>

namespace slipway::launcher {
namespace {

constexpr size_t kLongestLine = 64 << 10;

}  // namespace

RankOutput::RankOutput(OutputOptions options, ConsoleLines* console)
    : options_(std::move(options)), console_(console) {
  if (!options_.file.empty()) {
    file_.open(options_.file, std::ios::binary | std::ios::app);
  }
}

void RankOutput::Take(std::string_view bytes, absl::Time now) {
  if (file_.is_open()) file_ << bytes << std::flush;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const size_t length = end == bytes.npos ? bytes.size() : end;
    partial_ += bytes.substr(0, length);
    if (end != bytes.npos || partial_.size() >= kLongestLine) {
      Line(std::exchange(partial_, {}), now);
    }
    bytes.remove_prefix(end == bytes.npos ? length : length + 1);
  }
}

void RankOutput::Finish(absl::Time now) {
  if (!partial_.empty()) Line(std::exchange(partial_, {}), now);
  console_->End(options_.rank);
}

void RankOutput::Line(std::string_view line, absl::Time now) {
  console_->Add(options_.rank, line, now);
  if (options_.keep == 0) return;
  tail_.emplace_back(line);
  if (tail_.size() > options_.keep) tail_.pop_front();
}

}  // namespace slipway::launcher
