#include "trainer/plugin/gradient_scaler.h"

namespace slipway {

// Out of line, so that every library has the same type information.
GradientScaler::~GradientScaler() = default;

}  // namespace slipway
