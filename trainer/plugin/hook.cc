#include "trainer/plugin/hook.h"

#include <array>

namespace slipway {
namespace {

constexpr std::array<std::string_view, kHookCount> kNames = {
    "Configure",      "CreateModel",   "TransformModel", "BuildOptimizer",
    "WrapForward",    "BeforeLoad",    "AfterLoad",      "FitBegin",
    "EpochBegin",     "BatchFetched",  "StepBegin",      "MicroBegin",
    "BeforeForward",  "AfterForward",  "ComputeLoss",    "AfterLoss",
    "BeforeBackward", "AfterBackward", "MicroEnd",       "BeforeOptimizer",
    "AfterOptimizer", "StepEnd",       "EpochEnd",       "EvalBegin",
    "EvalBatchBegin", "EvalForward",   "EvalBatchEnd",   "EvalEnd",
    "BeforeSave",     "AfterSave",     "FitEnd",         "OnFailure",
    "Close",
};

}  // namespace

std::string_view ToString(Hook hook) {
  return kNames[static_cast<size_t>(hook)];
}

std::optional<Hook> FindHook(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Hook>(i);
  }
  return std::nullopt;
}

}  // namespace slipway
