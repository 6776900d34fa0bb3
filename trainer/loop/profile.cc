#include "trainer/loop/profile.h"

#include <cstdlib>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "torch/csrc/autograd/profiler_kineto.h"

namespace slipway::loop {
namespace {

namespace profiler = torch::autograd::profiler;

std::set<profiler::ActivityType> Activities(bool device) {
  std::set<profiler::ActivityType> activities = {profiler::ActivityType::CPU};
  if (device) activities.insert(profiler::ActivityType::CUDA);
  return activities;
}

}  // namespace

StepProfiler::~StepProfiler() {
  if (running_) profiler::disableProfiler();
}

void StepProfiler::Plan(const ProfiledSteps& steps, std::string folder,
                        bool device) {
  planned_ = steps;
  folder_ = std::move(folder);
  device_ = device;
}

std::optional<std::string> StepProfiler::Move(int64_t step) {
  if (planned_->from_start) {
    planned_->first += step;
    planned_->from_start = false;
  }
  const bool within =
      step >= planned_->first && step < planned_->first + planned_->count;
  if (within) now_ = step;
  if (running_ && !within) return Finish();
  if (!running_ && within) Start(step);
  return std::nullopt;
}

void StepProfiler::Start(int64_t step) {
  // Kineto has a word on everything, a missing GPU among them.
  setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);
  const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO,
                                        /*report_input_shapes=*/true);
  profiler::prepareProfiler(config, Activities(device_));
  profiler::enableProfiler(config, Activities(device_));
  running_ = true;
  started_at_ = step;
}

std::optional<std::string> StepProfiler::Finish() {
  if (!running_) return std::nullopt;
  running_ = false;
  planned_.reset();
  const std::unique_ptr<profiler::ProfilerResult> result =
      profiler::disableProfiler();
  std::string path =
      absl::StrCat(folder_, "/trace_steps_", started_at_, "-", now_, ".json");
  result->save(path);
  return path;
}

}  // namespace slipway::loop
