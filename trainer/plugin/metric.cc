#include "trainer/plugin/metric.h"

namespace slipway {

// Out of line, so that every library has the same type information.
Metric::~Metric() = default;

}  // namespace slipway
