#include "trainer/plugin/schedule.h"

namespace slipway {

// Out of line, so that every library has the same type information.
Schedule::~Schedule() = default;

Warmup::~Warmup() = default;

}  // namespace slipway
