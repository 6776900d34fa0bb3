#include "trainer/loop/decisions.h"

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "trainer/dist/collectives.h"

namespace slipway::loop {

int Decisions::signal() const {
  return several() ? agreed_signal_ : signal_.load();
}

bool Decisions::stops() const {
  return signal() != 0 || (several() ? agreed_.stop : control_.stop());
}

bool Decisions::saves() const {
  return several() ? agreed_.save : control_.save();
}

bool Decisions::evaluates() const {
  return several() ? agreed_.evaluate : control_.evaluate();
}

void Decisions::Done(bool window_open) {
  if (several()) {
    own_.save |= control_.save();
    own_.evaluate |= control_.evaluate();
    agreed_.save = agreed_.evaluate = false;
  }
  if (window_open) {
    control_.ClearRequests();
  } else {
    control_.ClearStepRequests();
  }
}

void Decisions::Speak(Word& word) {
  word.signal = signal_;
  word.stop = control_.stop();
  word.save = own_.save || control_.save();
  word.evaluate = own_.evaluate || control_.evaluate();
  own_ = Requests();
  control_.ClearRequests();
}

void Decisions::Hear(const Agreement& all) {
  all_have_batches_ = !all.waits;
  Take(all);
}

void Decisions::Take(const Agreement& all) {
  agreed_.save |= all.save;
  agreed_.evaluate |= all.evaluate;
  if (all.stop) {
    agreed_.stop = true;
    control_.RequestStop("another rank asks for it");
  }
  if (all.signal == 0) return;
  agreed_signal_ = all.signal;
  signal_ = all.signal;
}

absl::StatusOr<Agreement> Decisions::Meet(const Word& word) {
  const Notes own = ToNotes(word);
  std::vector<double> sums(own.begin(), own.end());
  const absl::Status status = dist::AllReduce(group_, absl::MakeSpan(sums));
  if (!status.ok()) return status;
  Notes notes;
  std::copy(sums.begin(), sums.end(), notes.begin());
  const Agreement all = FromNotes(notes, group_.world_size());
  Take(all);
  return all;
}

absl::StatusOr<bool> Decisions::MeetBeforeBatch(bool stalled,
                                                bool window_open) {
  if (!several()) return !stalled;
  const bool known = all_have_batches_ && !window_open;
  all_have_batches_ = false;
  if (known) return true;
  const absl::StatusOr<Agreement> all =
      Meet({.signal = signal_, .stalled = stalled});
  if (!all.ok()) return all.status();
  return !all->stalled && (window_open || !stops());
}

absl::StatusOr<bool> Decisions::MeetInEvaluation(bool stalled) {
  if (!several()) return !stalled;
  const absl::StatusOr<Agreement> all =
      Meet({.signal = signal_, .stalled = stalled});
  if (!all.ok()) return all.status();
  return signal() == 0;
}

absl::Status Decisions::MeetAtEpochEnd() {
  if (!several()) return absl::OkStatus();
  Word word;
  Speak(word);
  return Meet(word).status();
}

}  // namespace slipway::loop
