#include "trainer/loop/agreement.h"

#include <signal.h>

#include <cmath>
#include <limits>

namespace slipway::loop {
namespace {

// Places of the numbers.
enum Place {
  kInterrupted,
  kTerminated,
  kStop,
  kSave,
  kEvaluate,
  kSkip,
  kNotFinite,
  kWaits,
  kStalled,
  kStep,
  kStepSquared,
  kLoss,
};
static_assert(kLoss + 1 == kNotes);

float Flag(bool value) { return value ? 1 : 0; }

// Numbers are equal if and only if their variance is zero. Within a cycle they
// are small enough for a float to add up their squares exactly.
bool AllEqual(double sum, double sum_of_squares, int count) {
  return sum_of_squares * count == sum * sum;
}

}  // namespace

Notes ToNotes(const Word& word) {
  const float step = static_cast<float>(word.step % kStepCycle);
  Notes notes = {};
  notes[kInterrupted] = Flag(word.signal == SIGINT);
  notes[kTerminated] = Flag(word.signal != 0 && word.signal != SIGINT);
  notes[kStop] = Flag(word.stop);
  notes[kSave] = Flag(word.save);
  notes[kEvaluate] = Flag(word.evaluate);
  notes[kSkip] = Flag(word.skip);
  notes[kNotFinite] = Flag(word.not_finite);
  notes[kWaits] = Flag(word.waits);
  notes[kStalled] = Flag(word.stalled);
  notes[kStep] = step;
  notes[kStepSquared] = step * step;
  notes[kLoss] = word.not_finite ? 0 : static_cast<float>(word.loss);
  return notes;
}

Agreement FromNotes(absl::Span<const float> notes, int world_size) {
  Agreement all;
  if (notes[kInterrupted] > 0) all.signal = SIGINT;
  if (notes[kTerminated] > 0) all.signal = SIGTERM;
  all.stop = notes[kStop] > 0;
  all.save = notes[kSave] > 0;
  all.evaluate = notes[kEvaluate] > 0;
  all.skip = notes[kSkip] > 0;
  all.not_finite = notes[kNotFinite] > 0;
  all.waits = notes[kWaits] > 0;
  all.stalled = notes[kStalled] > 0;
  all.same_step = AllEqual(notes[kStep], notes[kStepSquared], world_size);
  all.loss = all.not_finite ? std::numeric_limits<double>::quiet_NaN()
                            : notes[kLoss] / world_size;
  return all;
}

}  // namespace slipway::loop
