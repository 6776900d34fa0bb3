#include "launcher/supervisor/console.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "launcher/topology/cpu_set.h"

namespace slipway::launcher {
namespace {

// More than any rank says at once; a rank that does has its lines shown.
constexpr size_t kMostWaiting = 1000;

std::string WithHost(const std::string& prefix) {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return absl::StrReplaceAll(prefix, {{"{host}", host}});
}

}  // namespace

ConsoleLines::ConsoleLines(const ConsoleOptions& options, std::ostream* out)
    : prefix_(WithHost(options.prefix)), out_(out) {
  for (int rank : options.ranks) sources_[rank];
}

void ConsoleLines::Add(int rank, std::string_view line, absl::Time now) {
  const auto source = sources_.find(rank);
  if (source == sources_.end()) return;
  source->second.waiting.push_back({std::string(line), now});
}

void ConsoleLines::End(int rank) {
  const auto source = sources_.find(rank);
  if (source != sources_.end()) source->second.ended = true;
}

void ConsoleLines::Flush(absl::Time now) {
  bool wrote = false;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [rank, source] : sources_) {
      if (source.waiting.empty() || !IsReady(rank, now)) continue;
      WriteHead(rank);
      more = wrote = true;
    }
  }
  if (wrote) out_->flush();
}

absl::Time ConsoleLines::Deadline() const {
  absl::Time deadline = absl::InfiniteFuture();
  for (const auto& [rank, source] : sources_) {
    if (source.waiting.empty()) continue;
    deadline = std::min(deadline, source.waiting.front().arrived + kPatience);
  }
  return deadline;
}

bool ConsoleLines::IsReady(int rank, absl::Time now) const {
  const Source& own = sources_.at(rank);
  if (now >= own.waiting.front().arrived + kPatience ||
      own.waiting.size() > kMostWaiting) {
    return true;
  }
  return std::all_of(sources_.begin(), sources_.end(), [](const auto& entry) {
    return entry.second.ended || !entry.second.waiting.empty();
  });
}

// The first line of `rank`, with all ranks whose first line is the same.
void ConsoleLines::WriteHead(int rank) {
  const std::string text = sources_.at(rank).waiting.front().text;
  CpuSet ranks;
  for (auto& [other, source] : sources_) {
    if (source.waiting.empty() || source.waiting.front().text != text) continue;
    source.waiting.pop_front();
    ranks.insert(other);
  }
  *out_ << absl::StrReplaceAll(prefix_, {{"{rank}", ranks.ToString()}}) << text
        << '\n';
}

}  // namespace slipway::launcher
