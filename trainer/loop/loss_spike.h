// Tells a loss that has run away from one that is merely noisy.
//
//   LossSpike spikes({.deviations = 10, .window = 50});
//   if (std::optional<std::string> why = spikes.Check(loss)) {
//     LeaveStepOut(*why);
//   } else {
//     spikes.Add(loss);
//   }
//
// A loss x is a spike if it lies far above the losses of the last `window`
// steps that were taken:
//
//   x > m + deviations * max(s, 0.01 |m|)
//   m = median of the losses,   s = 1.4826 * median of |loss - m|
//
// s is the standard deviation of normally distributed losses, estimated so that
// outliers in the window do not widen it (Rousseeuw and Croux, "Alternatives to
// the median absolute deviation", JASA 88, 1993). A multiple of the loss itself
// would be a tighter bound the further a training has come, and none for losses
// below zero. The 1 % keeps a loss that hardly moves from being held to its
// rounding. Until `window` steps were taken nothing is a spike; afterwards a
// loss that is not finite is one, too.
//
// A value type without locks.
#ifndef SLIPWAY_TRAINER_LOOP_LOSS_SPIKE_H_
#define SLIPWAY_TRAINER_LOOP_LOSS_SPIKE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace slipway::loop {

// training_hyperparams.loss_spike.
struct LossSpikeRule {
  double deviations = 10;
  int64_t window = 50;  // steps; at least 1
};

class LossSpike {
 public:
  explicit LossSpike(const LossSpikeRule& rule) : rule_(rule) {}

  // In words, why `loss` is a spike; nullopt if it is none.
  std::optional<std::string> Check(double loss) const;
  // Adds the loss of a step that was taken, if it is finite; the oldest leaves.
  void Add(double loss);

  // The window, oldest first. With a smaller window than that they come from,
  // the newest stay.
  std::vector<double> losses() const;
  void set_losses(const std::vector<double>& losses);

 private:
  LossSpikeRule rule_;
  std::deque<double> losses_;
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_LOSS_SPIKE_H_
