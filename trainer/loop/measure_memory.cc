#include "trainer/loop/measure_memory.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "ATen/ops/cat.h"
#include "c10/core/CachingDeviceAllocator.h"
#include "trainer/loop/available_memory.h"
#include "trainer/loop/device.h"
#include "trainer/loop/return_if_error.h"
#include "trainer/loop/step.h"
#include "trainer/nn/allocation_counter.h"
#include "trainer/plugin/exception.h"

namespace slipway::loop {
namespace {

constexpr int64_t kMostSamples = 16;

int64_t BytesOf(const Value& value) {
  int64_t bytes = 0;
  for (const at::Tensor& tensor : value.Flatten()) {
    bytes += static_cast<int64_t>(tensor.nbytes());
  }
  return bytes;
}

int64_t BytesOf(const data::Batch& batch) {
  return BytesOf(batch.input) + BytesOf(batch.target) + BytesOf(batch.extra);
}

int64_t BytesOf(const std::vector<nn::NamedTensor>& tensors) {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors) {
    bytes += static_cast<int64_t>(tensor.nbytes());
  }
  return bytes;
}

int64_t GradientBytes(const Optimizer& optimizer) {
  int64_t bytes = 0;
  for (const ParameterGroup& group : optimizer.groups()) {
    bytes += BytesOf(group.parameters);
  }
  return bytes;
}

int64_t StateBytes(const Optimizer& optimizer) {
  int64_t bytes = 0;
  for (const auto& [name, state] : optimizer.State()) bytes += BytesOf(state);
  return bytes;
}

// Whether every tensor has a row for each sample.
bool CanCut(const data::Batch& batch) {
  for (const Value* value : {&batch.input, &batch.target, &batch.extra}) {
    for (const at::Tensor& tensor : value->Flatten()) {
      if (tensor.dim() == 0 || tensor.size(0) != batch.size()) return false;
    }
  }
  return true;
}

// The first `rows` rows; all of them over again where there are too few.
data::Batch Rows(const data::Batch& batch, int64_t rows) {
  const auto cut = [rows](const at::Tensor& tensor) {
    at::Tensor whole = tensor;
    while (whole.size(0) < rows) whole = at::cat({whole, tensor});
    return whole.narrow(0, 0, rows).clone();
  };
  data::Batch part;
  part.input = batch.input.Transform(cut);
  part.target = batch.target.Transform(cut);
  part.extra = batch.extra.Transform(cut);
  for (int64_t i = 0; i < rows; ++i) {
    part.indices.push_back(batch.indices[i % batch.size()]);
  }
  part.valid = rows;
  return part;
}

// Sizes to measure. Normalisation needs more than one sample.
std::vector<int64_t> SizesFor(const data::Batch& batch) {
  const int64_t size = batch.size();
  if (!CanCut(batch)) return {size};
  if (size < 3) return {size, 2 * size};
  const int64_t large = std::min(size, kMostSamples);
  return {std::max<int64_t>(2, large / 2), large};
}

class Measuring {
 public:
  explicit Measuring(Run& run)
      : run_(run),
        state_(run.state),
        hyperparams_(WithoutLooking(run.hyperparams())),
        stepper_(state_, run.hooks(), run.parts.loss.get(), hyperparams_,
                 *run.lr_plan) {}

  absl::StatusOr<MemoryPlan> Measure() {
    const auto start = std::chrono::steady_clock::now();
    MemoryPlan plan;
    plan.parameters = BytesOf(run_.parts.model->NamedParameters());
    plan.buffers = BytesOf(run_.parts.model->NamedBuffers());
    plan.gradients = GradientBytes(*run_.optimizer);
    SLIPWAY_RETURN_IF_ERROR(FirstBatch(plan));
    const std::vector<int64_t> sizes = SizesFor(batch_);
    // Not before: what the loader drops was made on its own threads.
    counter_.emplace(state_.device);
    SLIPWAY_RETURN_IF_ERROR(BeginTraining());
    // The first step makes the optimizer's state.
    SLIPWAY_RETURN_IF_ERROR(Step(sizes.front()));
    plan.optimizer = StateBytes(*run_.optimizer);
    plan.plugins = std::max<int64_t>(0, counter_->live() - plan.optimizer);
    ResetPeakResident();
    for (const int64_t size : sizes) {
      SLIPWAY_RETURN_IF_ERROR(MeasureStep(size, plan));
    }
    AddProcess(plan);
    plan.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    FitBatch(plan);
    return plan;
  }

 private:
  // Of values that are not finite no step is to end here.
  static Hyperparams WithoutLooking(Hyperparams hyperparams) {
    hyperparams.non_finite = NonFinite::kContinue;
    return hyperparams;
  }

  absl::Status FirstBatch(MemoryPlan& plan) {
    data::Loader& loader = *run_.parts.train_loader;
    const std::unique_ptr<data::Epoch> epoch = loader.Begin(0);
    absl::StatusOr<std::optional<data::Batch>> batch = epoch->Next();
    if (!batch.ok()) return batch.status();
    if (!batch->has_value()) return absl::NotFoundError("there is no batch");
    batch_ = **std::move(batch);
    plan.batch_size = loader.options().batch_size;
    const int64_t ahead =
        loader.options().num_workers > 0 ? loader.options().prefetch : 0;
    // One more is being trained on; on a device, it is there as well.
    plan.sample_in_loader = BytesOf(batch_) / batch_.size() *
                            (state_.device.is_cpu() ? ahead + 1 : 1);
    return absl::OkStatus();
  }

  absl::Status BeginTraining() {
    run_.parts.model->Train(true);
    FitContext context(state_);
    SLIPWAY_RETURN_IF_ERROR(run_.hooks().Run<Hook::kFitBegin>(context));
    state_.loader_writable = true;
    return run_.hooks().Run<Hook::kEpochBegin>(context);
  }

  absl::Status Step(int64_t size) {
    state_.step = 0;
    state_.batch = CanCut(batch_) ? Rows(batch_, size) : batch_;
    MoveTo(state_.device, state_.batch);
    BatchContext context(state_);
    SLIPWAY_RETURN_IF_ERROR(run_.hooks().Run<Hook::kBatchFetched>(context));
    in_batch_ = counter_->live();
    counter_->ResetPeak();
    SLIPWAY_RETURN_IF_ERROR(stepper_.MicroBatch(1));
    const absl::Status status = stepper_.FinishWindow();
    state_.control.ClearStepRequests();
    state_.prediction = Value();
    state_.loss = LossOutput();
    state_.batch = data::Batch();
    return status;
  }

  absl::Status MeasureStep(int64_t size, MemoryPlan& plan) {
    SLIPWAY_RETURN_IF_ERROR(Step(size));
    plan.measured.push_back({size, counter_->peak() - in_batch_});
    return absl::OkStatus();
  }

  void AddProcess(MemoryPlan& plan) const {
    if (!state_.device.is_cpu()) return AddDevice(plan);
    const int64_t counted = plan.parameters + plan.buffers + plan.optimizer +
                            plan.plugins + plan.measured.back().bytes +
                            BytesOf(batch_);
    plan.process = std::max<int64_t>(0, PeakResidentMemory() - counted);
    const int64_t left = AvailableMemory();
    if (left > 0) plan.available = left + ResidentMemory();
  }

  void AddDevice(MemoryPlan& plan) const {
    c10::DeviceAllocator* allocator =
        c10::getDeviceAllocator(state_.device.type());
    const c10::DeviceIndex index = state_.device.index();
    plan.available = static_cast<int64_t>(
        allocator->getMemoryInfo(index).first +
        allocator->getDeviceStats(index).reserved_bytes[0].current);
  }

  Run& run_;
  TrainingState& state_;
  const Hyperparams hyperparams_;
  data::Batch batch_;
  std::optional<nn::AllocationCounter> counter_;
  Stepper stepper_;
  int64_t in_batch_ = 0;
};

}  // namespace

absl::StatusOr<MemoryPlan> MeasureMemory(Run& run) {
  return Guarded([&] { return Measuring(run).Measure(); });
}

}  // namespace slipway::loop
