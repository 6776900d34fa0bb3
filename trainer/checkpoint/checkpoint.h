// A training's state as a value, and its file.
//
//   Checkpoint checkpoint;
//   checkpoint.net = model.StateDict();
//   absl::Status status = WriteCheckpoint(checkpoint, path);
//   absl::StatusOr<Checkpoint> back = ReadCheckpoint(path);
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

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/checkpoint/atomic_file.h"
#include "trainer/checkpoint/pickle.h"
#include "trainer/checkpoint/tensor_file.h"
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

// A mean on its way: what loop::LossMeter has added up. The loss itself has
// the empty name, its parts their own.
struct MeanState {
  int64_t samples = 0;
  std::vector<std::pair<std::string, double>> sums;
};

// What the loop counts besides epochs and steps.
struct LoopState {
  int64_t windows = 0;   // optimizer steps, with those that were skipped
  int64_t samples = 0;   // trained on so far, over all ranks
  double seconds = 0;    // of training, over all runs of it
  MeanState train_loss;  // of the epoch so far
  // Of the window that is open (`Checkpoint::grads`): its micro-batches so far,
  // their loss, and why its step will be skipped (empty: it will not).
  int64_t micro = 0;
  MeanState window_loss;
  std::string skip_reason;
  // With a rule for loss spikes, of the last steps that were taken.
  std::vector<double> recent_losses;
};

struct Checkpoint {
  // SuperGradients' keys.
  std::vector<nn::NamedTensor> net;
  // "ema_net" and whatever else plugins set.
  std::vector<std::pair<std::string, std::vector<nn::NamedTensor>>> extra_nets;
  std::vector<std::pair<std::string, OptimizerState>> optimizer;
  std::vector<nn::NamedTensor> scaler;
  std::optional<double> acc;  // the watched metric
  int64_t epoch = 0;  // finished: trained and, where it is due, validated
  std::map<std::string, std::map<std::string, double>> metrics;  // by split

  // The key "slipway"; false in files of other systems, which have none, and
  // then what follows is not known.
  bool from_slipway = true;
  std::string plan_hash;
  std::string recipe_yaml;
  int64_t step = 0;
  int world_size = 1;
  SamplerState sampler;
  std::vector<std::string> rng;         // the CPU generator's state, per rank
  std::vector<std::string> device_rng;  // the device's, if it is no CPU
  std::vector<at::Tensor> meters;       // of the training metrics, mid-epoch
  std::optional<BestResult> best;
  // Rates of the next step by parameter group. A schedule is a function of the
  // step, so that this is for people and for messages only.
  std::vector<std::pair<std::string, double>> schedule;
  LoopState loop;
  std::vector<nn::NamedTensor> loss;   // tensors of the loss's own
  std::vector<nn::NamedTensor> grads;  // mid-accumulation only
  std::vector<std::pair<std::string, SavedPluginState>> plugins;

  // Not in the file: the wrappers' prefix ("module.", "_orig_mod.") that the
  // reader took off every name of `net`.
  std::string stripped_prefix;
};

// Calls `visit` with every tensor, in a fixed order, and with a path that only
// it has: "net/conv1.weight", "optimizer/conv1.weight/momentum_buffer",
// "meters/0", "plugins/ID/NAME". Generator states are no tensors.
void VisitTensors(
    const Checkpoint& checkpoint,
    absl::FunctionRef<void(const std::string& path, const at::Tensor& tensor)>
        visit);

// The same with tensors that nobody else writes to, where the originals lie.
Checkpoint Copy(const Checkpoint& checkpoint);

// Tensors are copied to the CPU as they are written; the caller's stay as they
// are. Errors name the path and the system's reason; an existing file at `path`
// is then untouched.
absl::Status WriteCheckpoint(const Checkpoint& checkpoint,
                             const std::string& path,
                             Replaced replaced = Replaced::kGone);

// The tree that WriteCheckpoint writes, with its tensors added to `writer`: for
// those who write it later (background_writer.h).
PickleValue CheckpointTree(const Checkpoint& checkpoint,
                           TensorFileWriter& writer);

// Reads a file of ours whole. A file of Python's, with or without the other
// keys (a bare state dict too), gives what it has. DATA_LOSS for a damaged
// file, INVALID_ARGUMENT for what is no checkpoint, FAILED_PRECONDITION for one
// that a newer Slipway wrote; each says what is wrong. See also previous.h.
absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_CHECKPOINT_H_
