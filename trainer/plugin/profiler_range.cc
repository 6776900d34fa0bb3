#include "trainer/plugin/profiler_range.h"

#include <string_view>
#include <utility>

#include "ATen/record_function.h"

namespace slipway {

bool ProfilerListens() {
  return at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE)
      .has_value();
}

// The record may only refer to the name: it goes first, and last.
struct ProfilerRange::Open {
  std::string name;
  at::RecordFunction record{at::RecordScope::USER_SCOPE};
};

ProfilerRange::ProfilerRange(std::string name)
    : open_(std::make_unique<Open>()) {
  open_->name = std::move(name);
  open_->record.before(std::string_view(open_->name));
}

ProfilerRange::~ProfilerRange() = default;

}  // namespace slipway
