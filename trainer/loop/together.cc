#include "trainer/loop/together.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "trainer/dist/collectives.h"
#include "trainer/loop/return_if_error.h"

namespace slipway::loop {
namespace {

using Json = nlohmann::ordered_json;

// Every tensor that all ranks have to begin with.
std::vector<nn::NamedTensor> SharedTensors(Run& run) {
  std::vector<nn::NamedTensor> shared = run.parts.model->StateDict();
  for (const auto& [model, module] : run.state.extra_models) {
    for (const auto& [name, tensor] : module->StateDict()) {
      shared.emplace_back(absl::StrCat(model, "/", name), tensor);
    }
  }
  if (run.parts.loss == nullptr) return shared;
  for (const auto& [name, tensor] : run.parts.loss->State()) {
    shared.emplace_back(absl::StrCat("loss/", name), tensor);
  }
  return shared;
}

// What must be the same on all ranks, under the names that people know it by.
Json Facts(Run& run, const std::vector<nn::NamedTensor>& shared) {
  Json tensors = Json::object();
  for (const auto& [name, tensor] : shared) {
    tensors[name] = absl::StrCat(c10::toString(tensor.scalar_type()), " ",
                                 c10::str(tensor.sizes()));
  }
  const data::Loader* valid = run.parts.valid_loader.get();
  return {{"model", tensors},
          {"training metrics", run.parts.train_metrics.size()},
          {"validation metrics", run.parts.valid_metrics.size()},
          {"batches of an epoch", run.state.batches_per_epoch},
          {"batches of a validation", valid == nullptr ? 0 : valid->size()},
          {"finished epochs", run.finished_epochs},
          {"batches done", run.batches_done},
          {"micro-batches done", run.state.micro},
          {"steps taken", run.state.step},
          {"run folder", run.options.run_dir},
          {"plan", run.options.plan.hash}};
}

// The first of rank 0's facts that another rank has otherwise.
std::string Difference(const Json& first, const Json& other, size_t rank) {
  for (const auto& [what, value] : first.items()) {
    if (other.value(what, Json()) == value) continue;
    if (!value.is_object()) {
      return absl::StrCat(what, ": ", value.dump(), " on rank 0, ",
                          other.value(what, Json()).dump(), " on rank ", rank);
    }
    const std::string inner =
        Difference(value, other.value(what, Json::object()), rank);
    return absl::StrCat(
        what, ": ",
        inner.empty() ? absl::StrCat("rank ", rank, " has more") : inner);
  }
  return "";
}

absl::Status CheckAlike(Run& run, const std::vector<nn::NamedTensor>& shared) {
  const auto all = dist::AllGather(run.group(), Facts(run, shared).dump());
  if (!all.ok()) return all.status();
  const Json first = Json::parse(all->front());
  for (size_t rank = 1; rank < all->size(); ++rank) {
    const std::string difference =
        Difference(first, Json::parse((*all)[rank]), rank);
    if (difference.empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the ranks are not to train the same: ", difference));
  }
  return absl::OkStatus();
}

dist::BufferPolicy PolicyOf(const Hyperparams& hyperparams) {
  return hyperparams.sync_buffers == SyncBuffers::kReduce
             ? dist::BufferPolicy::kReduce
             : dist::BufferPolicy::kBroadcast;
}

}  // namespace

absl::Status BeginTogether(Run& run) {
  dist::ProcessGroup& group = run.group();
  if (!group.distributed()) return absl::OkStatus();
  const std::vector<nn::NamedTensor> shared = SharedTensors(run);
  SLIPWAY_RETURN_IF_ERROR(CheckAlike(run, shared));
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : shared) tensors.push_back(tensor);
  SLIPWAY_RETURN_IF_ERROR(dist::BroadcastTensors(group, tensors));
  run.sync = std::make_unique<StepSync>(group, *run.parts.model,
                                        PolicyOf(run.hyperparams()));
  return absl::OkStatus();
}

}  // namespace slipway::loop
