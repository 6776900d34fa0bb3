// Where verify_resume interrupts a run, and what came of it.
//
//   const RunShape shape = {.epochs = 2, .steps = 12, .accumulate = 2};
//   for (const Interruption& round : NamedInterruptions(shape)) {
//     table.push_back({round, "step 9", "equal", /*ok=*/true});
//   }
//   std::cout << FormatTable(table);
//
// Pure functions.
#ifndef SLIPWAY_TRAINER_VERIFY_RESUME_ROUNDS_H_
#define SLIPWAY_TRAINER_VERIFY_RESUME_ROUNDS_H_

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace slipway {

// Of a run that nothing interrupted.
struct RunShape {
  int64_t epochs = 0;
  int64_t steps = 0;
  int64_t accumulate = 1;  // batches per step
};

struct Interruption {
  std::string where;  // for people
  int signal = SIGKILL;
  // The point in the trainer as $SLIPWAY_FAULT names it, with its signal.
  // Empty: the signal comes from outside, at `moment`.
  std::string fault;
  // A share of the time that the training took.
  double moment = 0;
};

// One at each kind of place: inside a window of batches, in the middle of an
// epoch, in validation, at the end of an epoch, right after a save. Those that
// a run of this shape does not have are left out.
std::vector<Interruption> NamedInterruptions(const RunShape& shape);

// `rounds` at random moments, SIGTERM or SIGKILL by chance. The same `seed`
// gives the same.
std::vector<Interruption> RandomInterruptions(int64_t rounds, uint64_t seed);

struct RoundResult {
  Interruption interruption;
  std::string resumed_from;  // "step 9", "the start"
  std::string result;        // "equal", or what differs
  bool ok = false;
};

// A line per round, under a line of headings.
std::string FormatTable(const std::vector<RoundResult>& rounds);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_VERIFY_RESUME_ROUNDS_H_
