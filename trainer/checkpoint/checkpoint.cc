// Writing; checkpoint_reader.cc reads.
#include "trainer/checkpoint/checkpoint.h"

#include <cstring>
#include <utility>

#include "ATen/ops/empty.h"
#include "trainer/checkpoint/checkpoint_keys.h"
#include "trainer/checkpoint/node_pickle.h"
#include "trainer/checkpoint/tensor_file.h"

namespace slipway {
namespace {

// Readers with weights_only know no bytes, so they travel as a uint8 tensor.
at::Tensor ToTensor(const std::string& bytes) {
  at::Tensor tensor =
      at::empty({static_cast<int64_t>(bytes.size())}, at::dtype(at::kByte));
  std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

class Builder {
 public:
  explicit Builder(TensorFileWriter& writer) : writer_(writer) {}

  PickleValue Named(const std::vector<nn::NamedTensor>& tensors) {
    PickleValue dict = PickleValue::Dict();
    for (const auto& [name, tensor] : tensors) {
      dict.Set(name, writer_.Add(tensor));
    }
    return dict;
  }

  // PyTorch numbers the entries of `state`; ours are named.
  PickleValue Optimizer(const Checkpoint& checkpoint) {
    PickleValue state = PickleValue::Dict();
    for (const auto& [name, tensors] : checkpoint.optimizer) {
      state.Set(name, Named(tensors));
    }
    PickleValue dict = PickleValue::Dict();
    dict.Set(keys::kState, std::move(state));
    dict.Set(keys::kParamGroups, PickleValue::List({}));
    return dict;
  }

  PickleValue Tensors(const std::vector<at::Tensor>& tensors) {
    std::vector<PickleValue> items;
    for (const at::Tensor& tensor : tensors) {
      items.push_back(writer_.Add(tensor));
    }
    return PickleValue::List(std::move(items));
  }

  PickleValue Rng(const std::vector<std::string>& states) {
    std::vector<PickleValue> items;
    for (const std::string& state : states) {
      items.push_back(writer_.Add(ToTensor(state)));
    }
    return PickleValue::List(std::move(items));
  }

  PickleValue Plugins(const Checkpoint& checkpoint) {
    PickleValue plugins = PickleValue::Dict();
    for (const auto& [id, saved] : checkpoint.plugins) {
      PickleValue state = PickleValue::Dict();
      state.Set(keys::kValues, ToPickle(saved.state.values));
      state.Set(keys::kTensors, Named(saved.state.tensors));
      PickleValue plugin = PickleValue::Dict();
      plugin.Set(keys::kVersion, PickleValue::Int(saved.version));
      plugin.Set(keys::kState, std::move(state));
      plugins.Set(id, std::move(plugin));
    }
    return plugins;
  }

 private:
  TensorFileWriter& writer_;
};

PickleValue SamplerDict(const SamplerState& sampler) {
  PickleValue dict = PickleValue::Dict();
  dict.Set(keys::kSeed, PickleValue::Int(static_cast<int64_t>(sampler.seed)));
  dict.Set(keys::kEpoch, PickleValue::Int(sampler.epoch));
  dict.Set(keys::kSamplesDone, PickleValue::Int(sampler.samples_done));
  return dict;
}

PickleValue BestDict(const std::optional<BestResult>& best) {
  if (!best) return PickleValue();
  PickleValue dict = PickleValue::Dict();
  dict.Set(keys::kName, PickleValue::String(best->name));
  dict.Set(keys::kValue, PickleValue::Float(best->value));
  dict.Set(keys::kEpoch, PickleValue::Int(best->epoch));
  return dict;
}

PickleValue NumbersDict(
    const std::vector<std::pair<std::string, double>>& numbers) {
  PickleValue dict = PickleValue::Dict();
  for (const auto& [name, value] : numbers) {
    dict.Set(name, PickleValue::Float(value));
  }
  return dict;
}

PickleValue MeanDict(const MeanState& mean) {
  PickleValue dict = PickleValue::Dict();
  dict.Set(keys::kSamples, PickleValue::Int(mean.samples));
  dict.Set(keys::kSums, NumbersDict(mean.sums));
  return dict;
}

PickleValue NumbersList(const std::vector<double>& numbers) {
  std::vector<PickleValue> items;
  items.reserve(numbers.size());
  for (const double number : numbers) {
    items.push_back(PickleValue::Float(number));
  }
  return PickleValue::List(std::move(items));
}

PickleValue LoopDict(const LoopState& loop) {
  PickleValue dict = PickleValue::Dict();
  dict.Set(keys::kWindows, PickleValue::Int(loop.windows));
  dict.Set(keys::kSamples, PickleValue::Int(loop.samples));
  dict.Set(keys::kSeconds, PickleValue::Float(loop.seconds));
  dict.Set(keys::kTrainLoss, MeanDict(loop.train_loss));
  dict.Set(keys::kMicro, PickleValue::Int(loop.micro));
  dict.Set(keys::kWindowLoss, MeanDict(loop.window_loss));
  dict.Set(keys::kSkipReason, PickleValue::String(loop.skip_reason));
  dict.Set(keys::kRecentLosses, NumbersList(loop.recent_losses));
  return dict;
}

PickleValue MetricsDict(const Checkpoint& checkpoint) {
  PickleValue dict = PickleValue::Dict();
  for (const auto& [split, values] : checkpoint.metrics) {
    PickleValue of_split = PickleValue::Dict();
    for (const auto& [name, value] : values) {
      of_split.Set(name, PickleValue::Float(value));
    }
    dict.Set(split, std::move(of_split));
  }
  return dict;
}

PickleValue SlipwayDict(const Checkpoint& checkpoint, Builder& builder) {
  PickleValue dict = PickleValue::Dict();
  dict.Set(keys::kSchema, PickleValue::Int(keys::kSchemaVersion));
  dict.Set(keys::kPlanHash, PickleValue::String(checkpoint.plan_hash));
  dict.Set(keys::kRecipeYaml, PickleValue::String(checkpoint.recipe_yaml));
  dict.Set(keys::kStep, PickleValue::Int(checkpoint.step));
  dict.Set(keys::kWorldSize, PickleValue::Int(checkpoint.world_size));
  dict.Set(keys::kSampler, SamplerDict(checkpoint.sampler));
  dict.Set(keys::kRng, builder.Rng(checkpoint.rng));
  if (!checkpoint.device_rng.empty()) {
    dict.Set(keys::kDeviceRng, builder.Rng(checkpoint.device_rng));
  }
  dict.Set(keys::kMeters, builder.Tensors(checkpoint.meters));
  dict.Set(keys::kBest, BestDict(checkpoint.best));
  dict.Set(keys::kSchedule, NumbersDict(checkpoint.schedule));
  dict.Set(keys::kLoop, LoopDict(checkpoint.loop));
  if (!checkpoint.loss.empty()) {
    dict.Set(keys::kLoss, builder.Named(checkpoint.loss));
  }
  if (!checkpoint.grads.empty()) {
    dict.Set(keys::kGrads, builder.Named(checkpoint.grads));
  }
  dict.Set(keys::kPlugins, builder.Plugins(checkpoint));
  return dict;
}

}  // namespace

PickleValue CheckpointTree(const Checkpoint& checkpoint,
                           TensorFileWriter& writer) {
  Builder builder(writer);
  PickleValue root = PickleValue::Dict();
  root.Set(keys::kNet, builder.Named(checkpoint.net));
  for (const auto& [key, tensors] : checkpoint.extra_nets) {
    root.Set(key, builder.Named(tensors));
  }
  root.Set(keys::kOptimizer, builder.Optimizer(checkpoint));
  if (!checkpoint.scaler.empty()) {
    root.Set(keys::kScaler, builder.Named(checkpoint.scaler));
  }
  root.Set(keys::kAcc, checkpoint.acc ? PickleValue::Float(*checkpoint.acc)
                                      : PickleValue());
  root.Set(keys::kEpoch, PickleValue::Int(checkpoint.epoch));
  root.Set(keys::kMetrics, MetricsDict(checkpoint));
  root.Set(keys::kSlipway, SlipwayDict(checkpoint, builder));
  return root;
}

absl::Status WriteCheckpoint(const Checkpoint& checkpoint,
                             const std::string& path, Replaced replaced) {
  TensorFileWriter writer;
  const PickleValue tree = CheckpointTree(checkpoint, writer);
  return writer.Write(tree, path, replaced);
}

}  // namespace slipway
