#include "launcher/supervisor/output.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace slipway::launcher {
namespace {

constexpr size_t kLongestLine = 64 << 10;

}  // namespace

RankOutput::RankOutput(OutputOptions options) : options_(std::move(options)) {
  if (!options_.file.empty()) {
    file_.open(options_.file, std::ios::binary | std::ios::app);
  }
}

void RankOutput::Take(std::string_view bytes, std::ostream& console) {
  if (file_.is_open()) file_ << bytes << std::flush;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const size_t length = end == bytes.npos ? bytes.size() : end;
    partial_ += bytes.substr(0, length);
    if (end != bytes.npos || partial_.size() >= kLongestLine) {
      Line(std::exchange(partial_, {}), console);
    }
    bytes.remove_prefix(end == bytes.npos ? length : length + 1);
  }
}

void RankOutput::Finish(std::ostream& console) {
  if (!partial_.empty()) Line(std::exchange(partial_, {}), console);
}

void RankOutput::Line(std::string_view line, std::ostream& console) {
  if (options_.on_console) {
    console << options_.prefix << line << '\n' << std::flush;
  }
  if (options_.keep == 0) return;
  tail_.emplace_back(line);
  if (tail_.size() > options_.keep) tail_.pop_front();
}

std::string ExpandPrefix(const std::string& format, int rank) {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return absl::StrReplaceAll(
      format, {{"{rank}", absl::StrCat(rank)}, {"{host}", host}});
}

}  // namespace slipway::launcher
