// How much of the average is kept in an update.
#ifndef SLIPWAY_PLUGINS_EMA_DECAY_H_
#define SLIPWAY_PLUGINS_EMA_DECAY_H_

#include <cstdint>

namespace slipway::ema {

enum class DecayType { kConstant, kThreshold, kExp };

// SuperGradients' formulas and defaults. With t updates of T in the whole
// training:
//   constant   decay
//   threshold  min(decay, (1 + t) / (10 + t))
//   exp        decay * (1 - exp(-beta * t / T))
// The latter two let the average follow the weights closely at first.
struct Decay {
  double decay = 0.9999;
  DecayType type = DecayType::kExp;
  double beta = 15;

  // The share that the average keeps in update `t`, 1 <= t <= `total`. Later
  // updates (a training that goes on for longer) follow the same formula.
  double At(int64_t t, int64_t total) const;
};

}  // namespace slipway::ema

#endif  // SLIPWAY_PLUGINS_EMA_DECAY_H_
