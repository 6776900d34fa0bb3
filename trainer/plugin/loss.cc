#include "trainer/plugin/loss.h"

namespace slipway {

// Out of line, so that every library has the same type information.
Loss::~Loss() = default;

}  // namespace slipway
