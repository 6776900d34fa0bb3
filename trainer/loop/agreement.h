// What ranks tell each other in every step, and what all of them know then.
//
//   Word mine;
//   mine.signal = SIGTERM;
//   Notes notes = ToNotes(mine);
//   ...                                   // summed over the ranks
//   const Agreement all = FromNotes(notes, world_size);
//   all.signal;                           // SIGTERM, on every rank
//
// A word is a few numbers, so that it can ride in a gradient bucket
// (dist/gradient_sync.h). Pure functions.
#ifndef SLIPWAY_TRAINER_LOOP_AGREEMENT_H_
#define SLIPWAY_TRAINER_LOOP_AGREEMENT_H_

#include <array>
#include <cstdint>

#include "absl/types/span.h"

namespace slipway::loop {

// One rank's.
struct Word {
  // Zero, or the signal that came. Any but SIGINT counts as SIGTERM.
  int signal = 0;
  // What hooks have asked for.
  bool stop = false;
  bool save = false;
  bool evaluate = false;
  bool skip = false;
  // The loss of a micro-batch was nan or infinite.
  bool not_finite = false;
  // The next batch is not made yet; a signal came before it.
  bool waits = false;
  bool stalled = false;
  // Optimizer steps taken so far.
  int64_t step = 0;
  // Of the window; not looked at where it is not finite.
  double loss = 0;
};

// Everybody's: what at least one rank says. SIGTERM comes before SIGINT.
struct Agreement {
  int signal = 0;
  bool stop = false;
  bool save = false;
  bool evaluate = false;
  bool skip = false;
  bool not_finite = false;
  bool waits = false;
  bool stalled = false;
  // Whether all ranks have taken as many steps as each other, up to multiples
  // of kStepCycle.
  bool same_step = true;
  // The mean of the ranks'; nan where one is not finite.
  double loss = 0;
};

inline constexpr int64_t kStepCycle = 32;
inline constexpr int kNotes = 12;
using Notes = std::array<float, kNotes>;

Notes ToNotes(const Word& word);
// `notes` are the sums of `world_size` ranks'; there are kNotes.
Agreement FromNotes(absl::Span<const float> notes, int world_size);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_AGREEMENT_H_
