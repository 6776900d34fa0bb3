// Which steps `--profile` records.
//
//   std::optional<ProfiledSteps> steps = ParseProfiledSteps("10");
//
//   10     ten steps, after two that warm up
//   5-15   the steps 5 to 15, counted from 0 as metrics.jsonl does, both ends
//          included
//
// Values only.
#ifndef SLIPWAY_TRAINER_LOOP_PROFILED_STEPS_H_
#define SLIPWAY_TRAINER_LOOP_PROFILED_STEPS_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace slipway::loop {

struct ProfiledSteps {
  // Of the training; with `from_start`, of this process's first step.
  int64_t first = 0;
  int64_t count = 0;
  bool from_start = false;

  friend bool operator==(const ProfiledSteps&, const ProfiledSteps&) = default;
};

// Nullopt for anything else: no number, none at all, an end before its begin.
std::optional<ProfiledSteps> ParseProfiledSteps(std::string_view text);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_PROFILED_STEPS_H_
