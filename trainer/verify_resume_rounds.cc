#include "trainer/verify_resume_rounds.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/data/rng.h"

namespace slipway {
namespace {

std::string SignalName(int signal) {
  return signal == SIGTERM ? "SIGTERM" : "SIGKILL";
}

// At the `turn`-th time that a point of the loop is reached.
Interruption AtPoint(std::string where, const char* point, int64_t turn,
                     int signal) {
  Interruption round;
  round.where = std::move(where);
  round.signal = signal;
  round.fault =
      absl::StrCat(point, ":", turn, signal == SIGTERM ? ":SIGTERM" : "");
  return round;
}

void AppendLine(std::string& text, const std::string& round,
                const std::string& where, const std::string& signal,
                const std::string& from, const std::string& result) {
  absl::StrAppendFormat(&text, "%-5s  %-29s  %-7s  %-12s  %s\n", round, where,
                        signal, from, result);
}

}  // namespace

std::vector<Interruption> NamedInterruptions(const RunShape& shape) {
  const int64_t epoch_steps = std::max<int64_t>(shape.steps / shape.epochs, 1);
  const int64_t middle = (epoch_steps + 1) / 2;
  // In the second epoch, so that a killed run has something to go on from.
  const int64_t late = shape.epochs > 1 ? epoch_steps + middle : middle;
  std::vector<Interruption> rounds;
  if (shape.accumulate > 1) {
    const int64_t batch = (middle - 1) * shape.accumulate + 1;
    rounds.push_back(AtPoint("in the middle of accumulation", "micro_batch",
                             batch, SIGTERM));
  }
  rounds.push_back(AtPoint("in the middle of an epoch", "step", late, SIGTERM));
  rounds.push_back(AtPoint("in the middle of an epoch", "step", late, SIGKILL));
  rounds.push_back(AtPoint("in validation", "evaluation_batch", 1, SIGTERM));
  rounds.push_back(AtPoint("in validation", "evaluation_batch", 2, SIGKILL));
  rounds.push_back(AtPoint("at the end of an epoch", "epoch_end", 1, SIGTERM));
  rounds.push_back(AtPoint("right after a save", "save_after", 1, SIGKILL));
  return rounds;
}

std::vector<Interruption> RandomInterruptions(int64_t rounds, uint64_t seed) {
  std::vector<Interruption> random;
  for (int64_t i = 0; i < rounds; ++i) {
    data::Rng rng(seed, 0, i);
    Interruption& round = random.emplace_back();
    round.moment = rng.Uniform();
    round.signal = rng.Below(2) == 0 ? SIGTERM : SIGKILL;
    round.where =
        absl::StrFormat("after %.0f %% of its time", 100 * round.moment);
  }
  return random;
}

std::string FormatTable(const std::vector<RoundResult>& rounds) {
  std::string text;
  AppendLine(text, "round", "interrupted", "by", "resumed from", "result");
  for (size_t i = 0; i < rounds.size(); ++i) {
    const RoundResult& round = rounds[i];
    AppendLine(text, absl::StrCat(i + 1), round.interruption.where,
               SignalName(round.interruption.signal), round.resumed_from,
               round.result);
  }
  return text;
}

}  // namespace slipway
