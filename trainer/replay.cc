#include "trainer/replay.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway {
namespace {

using nlohmann::ordered_json;

constexpr size_t kPartsShown = 8;

// "threads: 2 then, 1 now" for each that differs.
std::vector<std::string> Changes(const ordered_json& then,
                                 const ordered_json& now) {
  std::vector<std::string> changes;
  for (const auto& [name, value] : now.items()) {
    const auto old = then.find(name);
    if (old == then.end() || *old == value) continue;
    changes.push_back(
        absl::StrCat(name, ": ", old->dump(), " then, ", value.dump(), " now"));
  }
  return changes;
}

std::string Shown(const std::vector<std::string>& parts) {
  const size_t count = std::min(parts.size(), kPartsShown);
  const std::vector<std::string> first(
      parts.begin(), parts.begin() + static_cast<ptrdiff_t>(count));
  return absl::StrCat(absl::StrJoin(first, ", "),
                      parts.size() > count ? ", ..." : "");
}

Problem NoLog(const absl::Status& status) {
  Problem problem;
  problem.kind = "data";
  problem.message = "there is nothing to compare the replay with";
  problem.detail = std::string(status.message());
  problem.hint =
      "a run writes down its state with training_hyperparams.state_hash_every";
  return problem;
}

// Ends the training when the check is done.
class Comparison : public loop::StateObserver {
 public:
  Comparison(ReplayCheck& check, std::atomic<int>& stop_signal)
      : check_(check), stop_signal_(stop_signal) {}

  bool Wants(const loop::StateRecord& place, bool /*edge*/) override {
    return check_.Expects(place);
  }
  absl::Status Observe(const loop::StateRecord& record) override {
    check_.Observe(record);
    if (check_.done()) stop_signal_ = SIGTERM;
    return absl::OkStatus();
  }

 private:
  ReplayCheck& check_;
  std::atomic<int>& stop_signal_;
};

}  // namespace

ReplayCheck::ReplayCheck(ReplayLog log)
    : environments_(std::move(log.environments)) {
  for (loop::StateRecord& record : log.records) {
    const Place place = {record.epoch, record.batch};
    places_.emplace(place, std::move(record));
  }
}

std::string ReplayCheck::DescribeEnvironment(const ordered_json& here) const {
  std::string text;
  for (size_t i = 0; i < environments_.size(); ++i) {
    const std::vector<std::string> changes = Changes(environments_[i], here);
    if (changes.empty()) continue;
    absl::StrAppend(&text, "note: process ", i + 1, " of the run was another\n",
                    "  detail: ", absl::StrJoin(changes, "; "), "\n",
                    "  hint:   states may differ for this reason alone, by "
                    "rounding\n");
  }
  return text;
}

bool ReplayCheck::Expects(const loop::StateRecord& place) const {
  return places_.count({place.epoch, place.batch}) > 0;
}

void ReplayCheck::Observe(const loop::StateRecord& record) {
  const Place place = {record.epoch, record.batch};
  const auto [begin, end] = places_.equal_range(place);
  if (begin == end || difference_) return;
  for (auto there = begin; there != end && !difference_; ++there) {
    std::vector<std::string> parts =
        loop::Differences(there->second.hashes, record.hashes);
    if (parts.empty()) continue;
    difference_ = Difference{record, there->second.step, std::move(parts)};
  }
  if (difference_) return;
  places_.erase(begin, end);
  ++compared_;
  last_equal_step_ = record.step;
}

std::string ReplayCheck::Verdict() const {
  if (difference_) return DescribeDifference();
  if (places_.empty()) {
    return absl::StrCat("equal: ", compared_, " states up to step ",
                        last_equal_step_, "\n");
  }
  const loop::StateRecord& missing = places_.begin()->second;
  return absl::StrCat("different: the run was at epoch ", missing.epoch,
                      ", batch ", missing.batch, " (step ", missing.step,
                      "), where the replay never was\n  detail: ", compared_,
                      " states before that are equal\n");
}

std::string ReplayCheck::DescribeDifference() const {
  const loop::StateRecord& here = difference_->here;
  const std::vector<std::string>& parts = difference_->parts;
  std::string text = absl::StrCat(
      "different: step ", here.step, ", tensor ", parts[0], ", rank ",
      here.rank, "\n  detail: epoch ", here.epoch, ", batch ", here.batch, "; ",
      parts.size(), " of ", here.hashes.size(), " parts: ", Shown(parts), "\n");
  if (difference_->step_there != here.step) {
    absl::StrAppend(&text, "  detail: the run had taken ",
                    difference_->step_there, " steps there\n");
  }
  if (last_equal_step_ < 0) return text + "  detail: the first state differs\n";
  return absl::StrCat(text, "  detail: the last equal state is that of step ",
                      last_equal_step_, "\n");
}

std::optional<ReplayLog> OpenReplay(const std::string& run_dir, int rank,
                                    std::optional<int64_t> until,
                                    Problems& problems) {
  const std::string path = ReplayLogPath(run_dir, rank);
  absl::StatusOr<ReplayLog> log = ReadReplayLog(path);
  absl::Status status = log.status();
  if (log.ok() && until) {
    std::erase_if(log->records, [until](const loop::StateRecord& record) {
      return record.step > *until;
    });
    if (log->records.empty()) {
      status = absl::NotFoundError(
          absl::StrCat(path, " has no state up to step ", *until));
    }
  }
  if (status.ok()) return *std::move(log);
  problems.push_back(NoLog(status));
  return std::nullopt;
}

std::vector<std::string> ReplayOverrides(const ReplayLog& log) {
  const loop::StateRecord& first = log.records.front();
  if (first.epoch > 0 || first.batch > 0) return {};
  return {"++resume=False", "++training_hyperparams.resume_path=null",
          "++training_hyperparams.run_id=null"};
}

int Replay(ReplayLog log, loop::Trainer& trainer, std::ostream& out) {
  ReplayCheck check(std::move(log));
  out << check.DescribeEnvironment(ReplayEnvironment(trainer.model()));
  trainer.ObserveState(
      std::make_unique<Comparison>(check, trainer.stop_signal()));
  const loop::RunResult result = trainer.Fit();
  if (!check.done()) {
    // A signal of the user's.
    if (result.exit_code > 128) return result.exit_code;
    if (result.error) out << FormatProblem(*result.error);
  }
  out << check.Verdict();
  return check.equal() ? 0 : 1;
}

}  // namespace slipway
