#include "plugins/ema/decay.h"

#include <algorithm>
#include <cmath>

namespace slipway::ema {

double Decay::At(int64_t t, int64_t total) const {
  const double update = static_cast<double>(t);
  switch (type) {
    case DecayType::kThreshold:
      return std::min(decay, (1 + update) / (10 + update));
    case DecayType::kExp:
      return decay *
             (1 - std::exp(-beta * update / std::max<int64_t>(total, 1)));
    case DecayType::kConstant:
      break;
  }
  return decay;
}

}  // namespace slipway::ema
