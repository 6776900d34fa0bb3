// A named stretch of time that profilers see: the core's phases and hooks.
//
//   std::optional<ProfilerRange> range;
//   if (ProfilerListens()) range.emplace("forward");
//
// They appear in the traces of LibTorch's profiler (--profile) as user
// annotations, and in those of whoever else registers callbacks of
// at::RecordFunction. While nobody listens, asking is all that it costs.
// Ranges nest, and belong to the thread that began them.
#ifndef SLIPWAY_TRAINER_PLUGIN_PROFILER_RANGE_H_
#define SLIPWAY_TRAINER_PLUGIN_PROFILER_RANGE_H_

#include <memory>
#include <string>

namespace slipway {

// Whether a profiler listens on this thread.
bool ProfilerListens();

class ProfilerRange {
 public:
  // Begins it.
  explicit ProfilerRange(std::string name);
  // Ends it.
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_PROFILER_RANGE_H_
