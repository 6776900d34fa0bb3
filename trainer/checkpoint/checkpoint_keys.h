// The keys of a checkpoint's tree, for its writer and its reader.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_CHECKPOINT_KEYS_H_
#define SLIPWAY_TRAINER_CHECKPOINT_CHECKPOINT_KEYS_H_

#include <cstdint>

namespace slipway::keys {

// Of the key "slipway"; a reader refuses a newer one.
inline constexpr int64_t kSchemaVersion = 1;

// Top level, as SuperGradients has them.
inline constexpr char kNet[] = "net";
inline constexpr char kOptimizer[] = "optimizer_state_dict";
inline constexpr char kScaler[] = "scaler_state_dict";
inline constexpr char kAcc[] = "acc";
inline constexpr char kEpoch[] = "epoch";
inline constexpr char kMetrics[] = "metrics";
inline constexpr char kSlipway[] = "slipway";

// Inside "optimizer_state_dict".
inline constexpr char kState[] = "state";
inline constexpr char kParamGroups[] = "param_groups";

// Inside "slipway".
inline constexpr char kSchema[] = "schema";
inline constexpr char kPlanHash[] = "plan_hash";
inline constexpr char kRecipeYaml[] = "recipe_yaml";
inline constexpr char kStep[] = "step";
inline constexpr char kWorldSize[] = "world_size";
inline constexpr char kSampler[] = "sampler";
inline constexpr char kSeed[] = "seed";
inline constexpr char kSamplesDone[] = "samples_done";
inline constexpr char kRng[] = "rng";
inline constexpr char kDeviceRng[] = "device_rng";
inline constexpr char kMeters[] = "meters";
inline constexpr char kBest[] = "best";
inline constexpr char kName[] = "name";
inline constexpr char kValue[] = "value";
inline constexpr char kSchedule[] = "schedule";
inline constexpr char kLoop[] = "loop";
inline constexpr char kWindows[] = "windows";
inline constexpr char kSamples[] = "samples";
inline constexpr char kSeconds[] = "seconds";
inline constexpr char kMicro[] = "micro";
inline constexpr char kSkipReason[] = "skip_reason";
inline constexpr char kRecentLosses[] = "recent_losses";
inline constexpr char kTrainLoss[] = "train_loss";
inline constexpr char kWindowLoss[] = "window_loss";
inline constexpr char kSums[] = "sums";
inline constexpr char kLoss[] = "loss";
inline constexpr char kGrads[] = "grads";
inline constexpr char kPlugins[] = "plugins";
inline constexpr char kVersion[] = "version";
inline constexpr char kValues[] = "values";
inline constexpr char kTensors[] = "tensors";

}  // namespace slipway::keys

#endif  // SLIPWAY_TRAINER_CHECKPOINT_CHECKPOINT_KEYS_H_
