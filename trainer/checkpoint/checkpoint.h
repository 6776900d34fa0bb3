// A training's state as a value, and its file.
//
//   Checkpoint checkpoint;
//   checkpoint.net = model.StateDict();
//   absl::Status status = WriteCheckpoint(checkpoint, dir +
//   "/ckpt_latest.pth"); absl::StatusOr<Checkpoint> back =
//   ReadCheckpoint(path);
//
// The file is PyTorch's zip format: Python reads it with
// torch.load(path, weights_only=True). Keys are SuperGradients' plus one,
// "slipway". Writing is atomic: whatever dies, the path holds the old file or
// the new one, whole.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_CHECKPOINT_H_
#define SLIPWAY_TRAINER_CHECKPOINT_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/nn/module.h"
#include "trainer/plugin/optimizer.h"
#include "trainer/plugin/plugin.h"

namespace slipway {

// Where the training data stood.
struct SamplerState {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t samples_done = 0;  // over all ranks, in this epoch
};

struct BestResult {
  std::string name;
  double value = 0;
  int64_t epoch = 0;
};

// One plugin's state with the manifest's version of it.
struct SavedPluginState {
  int version = 0;
  PluginState state;
};

struct Checkpoint {
  // SuperGradients' keys.
  std::vector<nn::NamedTensor> net;
  // "ema_net" and whatever else plugins set.
  std::vector<std::pair<std::string, std::vector<nn::NamedTensor>>> extra_nets;
  std::vector<std::pair<std::string, OptimizerState>> optimizer;
  std::vector<nn::NamedTensor> scaler;
  std::optional<double> acc;  // the watched metric
  int64_t epoch = 0;          // finished epochs
  std::map<std::string, std::map<std::string, double>> metrics;  // by split

  // The key "slipway".
  std::string plan_hash;
  std::string recipe_yaml;
  int64_t step = 0;
  int world_size = 1;
  SamplerState sampler;
  std::vector<std::string> rng;    // generator state, per rank
  std::vector<at::Tensor> meters;  // of the training metrics, mid-epoch
  std::optional<BestResult> best;
  std::vector<nn::NamedTensor> grads;  // mid-accumulation only
  std::vector<std::pair<std::string, SavedPluginState>> plugins;
};

// Tensors are copied to the CPU as they are written; the caller's stay as they
// are. Errors name the path and the system's reason; an existing file at `path`
// is then untouched.
absl::Status WriteCheckpoint(const Checkpoint& checkpoint,
                             const std::string& path);

// Reads a file of ours whole. A file of Python's, with or without the other
// keys (a bare state dict too), gives what it has. DATA_LOSS for a damaged
// file, INVALID_ARGUMENT for what is no checkpoint; each says what is wrong.
absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_CHECKPOINT_H_
