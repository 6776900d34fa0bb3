// SIGINT and SIGTERM as requests: the training ends at its next step boundary
// and saves, instead of being cut off.
//
//   std::atomic<int> stop = 0;
//   StopSignals signals(stop);   // until the end of the scope
//   ...
//   if (stop != 0) return 128 + stop;
//
// The first signal asks. A second one, of either kind, ends the process at
// once, as if this were not here.
#ifndef SLIPWAY_TRAINER_LOOP_STOP_SIGNALS_H_
#define SLIPWAY_TRAINER_LOOP_STOP_SIGNALS_H_

#include <signal.h>

#include <atomic>

namespace slipway::loop {

// At most one at a time in a process; not thread-safe.
class StopSignals {
 public:
  // `signal` is set to the number of the signal that came; it must outlive
  // this object.
  explicit StopSignals(std::atomic<int>& signal);
  // From now on `signal` is set; to the signal that came before, if one did.
  void Retarget(std::atomic<int>& signal);
  // Puts the handlers back that were there before.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  struct sigaction old_interrupt_;
  struct sigaction old_terminate_;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_STOP_SIGNALS_H_
