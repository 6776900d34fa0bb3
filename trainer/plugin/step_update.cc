#include "trainer/plugin/step_update.h"

namespace slipway {

StepUpdate::~StepUpdate() = default;

}  // namespace slipway
