#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_keys.h"
#include "trainer/checkpoint/node_pickle.h"
#include "trainer/checkpoint/tensor_file.h"
#include "trainer/plugin/with_prefix.h"

namespace slipway {
namespace {

// Keeps the first error, so that reading can go through all the parts.
class Reader {
 public:
  Reader(const std::string& path, TensorFile& file)
      : path_(path), file_(file) {}

  absl::Status status() const { return status_; }

  at::Tensor Tensor(const PickleValue& value) {
    if (value.tensor() == nullptr) {
      Fail(absl::InvalidArgumentError(absl::StrCat(
          "expected a tensor, found a ", std::string(KindName(value.kind())))));
      return at::Tensor();
    }
    absl::StatusOr<at::Tensor> tensor = file_.Load(*value.tensor());
    status_.Update(tensor.status());
    return tensor.ok() ? *std::move(tensor) : at::Tensor();
  }

  // A number, or a tensor of one element, as SuperGradients' metrics may be.
  double Number(const PickleValue& value) {
    if (value.tensor() == nullptr) return value.number();
    const at::Tensor tensor = Tensor(value);
    if (!tensor.defined()) return 0;
    if (tensor.numel() == 1) return tensor.item<double>();
    Fail(absl::InvalidArgumentError(absl::StrCat(
        "expected a number, found a tensor of ", tensor.numel(), " elements")));
    return 0;
  }

  // Nothing for a null or for what is no dict. Entries that are no tensors
  // (Python's state dicts may hold numbers) are left out.
  std::vector<nn::NamedTensor> Named(const PickleValue* dict) {
    std::vector<nn::NamedTensor> result;
    if (dict == nullptr) return result;
    for (const auto& [key, value] : dict->entries()) {
      if (value.tensor() == nullptr) continue;
      result.emplace_back(key.text(), Tensor(value));
    }
    return result;
  }

  std::vector<at::Tensor> Tensors(const PickleValue* list) {
    std::vector<at::Tensor> result;
    if (list == nullptr) return result;
    for (const PickleValue& item : list->items()) {
      result.push_back(Tensor(item));
    }
    return result;
  }

  std::vector<std::string> Rng(const PickleValue* list) {
    std::vector<std::string> result;
    for (const at::Tensor& tensor : Tensors(list)) {
      if (!tensor.defined()) continue;
      result.emplace_back(static_cast<const char*>(tensor.const_data_ptr()),
                          tensor.nbytes());
    }
    return result;
  }

  SavedPluginState Plugin(const PickleValue& value) {
    SavedPluginState saved;
    if (const PickleValue* version = value.Find(keys::kVersion)) {
      saved.version = static_cast<int>(version->int_value());
    }
    const PickleValue* state = value.Find(keys::kState);
    if (state == nullptr) return saved;
    if (const PickleValue* values = state->Find(keys::kValues)) {
      absl::StatusOr<recipe::Node> node = ToNode(*values);
      Fail(node.status());
      if (node.ok()) saved.state.values = *std::move(node);
    }
    saved.state.tensors = Named(state->Find(keys::kTensors));
    return saved;
  }

  // Keeps the first; `status` does not name the path yet.
  void Fail(const absl::Status& status) {
    status_.Update(WithPrefix(path_, status));
  }

 private:
  const std::string& path_;
  TensorFile& file_;
  absl::Status status_;
};

int64_t IntAt(const PickleValue& dict, const char* key) {
  const PickleValue* value = dict.Find(key);
  return value == nullptr ? 0 : value->int_value();
}

std::string TextAt(const PickleValue& dict, const char* key) {
  const PickleValue* value = dict.Find(key);
  return value == nullptr ? "" : value->text();
}

double NumberAt(const PickleValue& dict, const char* key) {
  const PickleValue* value = dict.Find(key);
  return value == nullptr ? 0 : value->number();
}

std::vector<std::pair<std::string, double>> ReadNumbers(
    const PickleValue* dict) {
  std::vector<std::pair<std::string, double>> numbers;
  if (dict == nullptr) return numbers;
  for (const auto& [name, value] : dict->entries()) {
    numbers.emplace_back(name.text(), value.number());
  }
  return numbers;
}

std::vector<double> ReadNumbersList(const PickleValue* list) {
  std::vector<double> numbers;
  if (list == nullptr) return numbers;
  for (const PickleValue& item : list->items()) {
    numbers.push_back(item.number());
  }
  return numbers;
}

MeanState ReadMean(const PickleValue* dict) {
  if (dict == nullptr) return {};
  return {.samples = IntAt(*dict, keys::kSamples),
          .sums = ReadNumbers(dict->Find(keys::kSums))};
}

LoopState ReadLoop(const PickleValue* dict) {
  if (dict == nullptr) return {};
  return {.windows = IntAt(*dict, keys::kWindows),
          .samples = IntAt(*dict, keys::kSamples),
          .seconds = NumberAt(*dict, keys::kSeconds),
          .train_loss = ReadMean(dict->Find(keys::kTrainLoss)),
          .micro = IntAt(*dict, keys::kMicro),
          .window_loss = ReadMean(dict->Find(keys::kWindowLoss)),
          .skip_reason = TextAt(*dict, keys::kSkipReason),
          .recent_losses = ReadNumbersList(dict->Find(keys::kRecentLosses))};
}

SamplerState ReadSampler(const PickleValue* dict) {
  if (dict == nullptr) return {};
  return {.seed = static_cast<uint64_t>(IntAt(*dict, keys::kSeed)),
          .epoch = IntAt(*dict, keys::kEpoch),
          .samples_done = IntAt(*dict, keys::kSamplesDone)};
}

std::optional<BestResult> ReadBest(const PickleValue* dict) {
  if (dict == nullptr || !dict->is_dict()) return std::nullopt;
  return BestResult{.name = TextAt(*dict, keys::kName),
                    .value = NumberAt(*dict, keys::kValue),
                    .epoch = IntAt(*dict, keys::kEpoch)};
}

void ReadMetrics(const PickleValue* dict, Reader& reader,
                 Checkpoint& checkpoint) {
  if (dict == nullptr) return;
  for (const auto& [split, values] : dict->entries()) {
    for (const auto& [name, value] : values.entries()) {
      checkpoint.metrics[split.text()][name.text()] = reader.Number(value);
    }
  }
}

void ReadOptimizer(const PickleValue* dict, Reader& reader,
                   Checkpoint& checkpoint) {
  const PickleValue* state =
      dict == nullptr ? nullptr : dict->Find(keys::kState);
  if (state == nullptr) return;
  for (const auto& [name, tensors] : state->entries()) {
    // PyTorch's own optimizers number their entries: no name, no match.
    if (name.kind() != PickleValue::Kind::kString) continue;
    checkpoint.optimizer.emplace_back(name.text(), reader.Named(&tensors));
  }
}

// Of ours and not newer. Comes before all else: what a newer Slipway keeps
// elsewhere must not look like a fault.
absl::Status CheckSchema(const PickleValue* dict) {
  const int64_t schema = dict == nullptr ? 0 : IntAt(*dict, keys::kSchema);
  if (schema <= keys::kSchemaVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("written by a newer Slipway (checkpoint schema ", schema,
                   ", this one reads up to ", keys::kSchemaVersion,
                   "); use that one, or export the weights from there"));
}

void ReadSlipway(const PickleValue* dict, Reader& reader,
                 Checkpoint& checkpoint) {
  checkpoint.from_slipway = dict != nullptr;
  if (dict == nullptr) return;
  checkpoint.plan_hash = TextAt(*dict, keys::kPlanHash);
  checkpoint.recipe_yaml = TextAt(*dict, keys::kRecipeYaml);
  checkpoint.step = IntAt(*dict, keys::kStep);
  checkpoint.world_size = static_cast<int>(IntAt(*dict, keys::kWorldSize));
  checkpoint.sampler = ReadSampler(dict->Find(keys::kSampler));
  checkpoint.rng = reader.Rng(dict->Find(keys::kRng));
  checkpoint.device_rng = reader.Rng(dict->Find(keys::kDeviceRng));
  checkpoint.meters = reader.Tensors(dict->Find(keys::kMeters));
  checkpoint.best = ReadBest(dict->Find(keys::kBest));
  checkpoint.schedule = ReadNumbers(dict->Find(keys::kSchedule));
  checkpoint.loop = ReadLoop(dict->Find(keys::kLoop));
  checkpoint.loss = reader.Named(dict->Find(keys::kLoss));
  checkpoint.grads = reader.Named(dict->Find(keys::kGrads));
  if (const PickleValue* plugins = dict->Find(keys::kPlugins)) {
    for (const auto& [id, state] : plugins->entries()) {
      checkpoint.plugins.emplace_back(id.text(), reader.Plugin(state));
    }
  }
}

// The prefix that every name begins with because of a wrapper around the model:
// DistributedDataParallel's, torch.compile's, or one inside the other's.
std::string WrapperPrefix(const std::vector<nn::NamedTensor>& tensors) {
  std::string prefix;
  while (!tensors.empty()) {
    std::string longer;
    for (const char* wrapper : {"module.", "_orig_mod."}) {
      const std::string candidate = prefix + wrapper;
      if (tensors[0].first.starts_with(candidate)) longer = candidate;
    }
    const bool everywhere =
        !longer.empty() &&
        std::all_of(tensors.begin(), tensors.end(), [&](const auto& tensor) {
          return tensor.first.starts_with(longer);
        });
    if (!everywhere) break;
    prefix = longer;
  }
  return prefix;
}

// Names as the model has them; what was taken off.
std::string StripWrapperPrefix(std::vector<nn::NamedTensor>& tensors) {
  const std::string prefix = WrapperPrefix(tensors);
  for (auto& [name, tensor] : tensors) name.erase(0, prefix.size());
  return prefix;
}

// Top-level dicts of tensors other than "net": "ema_net" and its like.
void ReadExtraNets(const PickleValue& root, Reader& reader,
                   Checkpoint& checkpoint) {
  for (const auto& [key, value] : root.entries()) {
    if (key.text() == keys::kNet || key.text() == keys::kScaler) continue;
    std::vector<nn::NamedTensor> tensors = reader.Named(&value);
    if (tensors.empty()) continue;
    StripWrapperPrefix(tensors);
    checkpoint.extra_nets.emplace_back(key.text(), std::move(tensors));
  }
}

void ReadTraining(const PickleValue& root, Reader& reader,
                  Checkpoint& checkpoint) {
  checkpoint.net = reader.Named(root.Find(keys::kNet));
  checkpoint.stripped_prefix = StripWrapperPrefix(checkpoint.net);
  ReadExtraNets(root, reader, checkpoint);
  ReadOptimizer(root.Find(keys::kOptimizer), reader, checkpoint);
  checkpoint.scaler = reader.Named(root.Find(keys::kScaler));
  const PickleValue* acc = root.Find(keys::kAcc);
  if (acc != nullptr && acc->kind() != PickleValue::Kind::kNone) {
    checkpoint.acc = reader.Number(*acc);
  }
  checkpoint.epoch = IntAt(root, keys::kEpoch);
  ReadMetrics(root.Find(keys::kMetrics), reader, checkpoint);
  ReadSlipway(root.Find(keys::kSlipway), reader, checkpoint);
}

// A bare state dict is a net alone.
void ReadBare(const PickleValue& root, Reader& reader, Checkpoint& checkpoint) {
  checkpoint.from_slipway = false;
  checkpoint.net = reader.Named(&root);
  checkpoint.stripped_prefix = StripWrapperPrefix(checkpoint.net);
  if (!checkpoint.net.empty()) return;
  std::vector<std::string> names;
  for (const auto& [key, value] : root.entries()) {
    if (names.size() < 8) names.push_back(key.text());
  }
  reader.Fail(absl::InvalidArgumentError(absl::StrCat(
      "expected a key \"net\" or a dict of tensors, found the keys \"",
      absl::StrJoin(names, "\", \""), "\"")));
}

}  // namespace

absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path) {
  absl::StatusOr<TensorFile> file = TensorFile::Open(path);
  if (!file.ok()) return file.status();
  const PickleValue& root = file->tree();
  Reader reader(path, *file);
  Checkpoint checkpoint;
  if (!root.is_dict()) {
    reader.Fail(absl::InvalidArgumentError(
        absl::StrCat("expected a dict of tensors, found a ",
                     std::string(KindName(root.kind())))));
  }
  reader.Fail(CheckSchema(root.Find(keys::kSlipway)));
  if (!reader.status().ok()) return reader.status();
  if (root.Find(keys::kNet) == nullptr) {
    ReadBare(root, reader, checkpoint);
  } else {
    ReadTraining(root, reader, checkpoint);
  }
  if (!reader.status().ok()) return reader.status();
  return checkpoint;
}

}  // namespace slipway
