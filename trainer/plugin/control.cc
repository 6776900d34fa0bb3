#include "trainer/plugin/control.h"

namespace slipway {

Scope::~Scope() = default;

void Control::RequestStop(std::string_view reason) {
  if (stop_) return;
  stop_ = true;
  stop_reason_ = reason;
}

void Control::SkipStep(std::string_view reason) {
  if (skip_) return;
  skip_ = true;
  skip_reason_ = reason;
}

void Control::ClearRequests() {
  save_ = false;
  evaluate_ = false;
}

void Control::ClearStepRequests() {
  ClearRequests();
  skip_ = false;
  skip_reason_.clear();
}

}  // namespace slipway
