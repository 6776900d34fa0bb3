#include "plugins/vision_classification/metrics/accuracy.h"

#include <limits>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/zeros.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/checked.h"
#include "plugins/vision_classification/target.h"

namespace slipway::vision_classification {
namespace {

constexpr int64_t kBest = 5;

// The first `count` rows. The whole is not taken apart: a kernel less a batch.
at::Tensor Rows(const at::Tensor& tensor, int64_t count) {
  return count == tensor.size(0) ? tensor : tensor.narrow(0, 0, count);
}

at::Tensor ClassesOf(const at::Tensor& target) {
  return IsDense(target) ? target.argmax(1) : target;
}

}  // namespace

Share::Share(std::string name) : name_(std::move(name)) { MoveTo(at::kCPU); }

void Share::MoveTo(at::Device device) {
  if (meter_.defined() && meter_.device() == device) return;
  meter_ = meter_.defined() ? meter_.to(device)
                            : at::zeros({2}, at::TensorOptions(at::kLong));
  right_ = meter_.select(0, 0);
  count_ = meter_.select(0, 1);
}

void Share::Reset() { meter_.zero_(); }

absl::Status Share::Check(const at::Tensor&) const { return absl::OkStatus(); }

absl::Status Share::Update(const Value& prediction, const Value& target,
                           int64_t valid) {
  if (absl::Status s = CheckTarget(name_, prediction, target); !s.ok()) {
    return s;
  }
  if (absl::Status s = Check(prediction.tensor()); !s.ok()) return s;
  if (valid == 0) return absl::OkStatus();

  const at::NoGradGuard no_grad;
  const at::Tensor scores = Rows(prediction.tensor(), valid);
  const at::Tensor classes = ClassesOf(Rows(target.tensor(), valid));
  MoveTo(scores.device());
  right_.add_(Right(scores, classes).sum());
  count_.add_(classes.numel());
  return absl::OkStatus();
}

std::vector<std::pair<std::string, double>> Share::Compute() const {
  const at::Tensor meter = meter_.cpu();
  const int64_t* counts = meter.const_data_ptr<int64_t>();
  const double share = counts[1] == 0
                           ? std::numeric_limits<double>::quiet_NaN()
                           : static_cast<double>(counts[0]) / counts[1];
  return {{name_, share}};
}

at::Tensor Accuracy::Right(const at::Tensor& prediction,
                           const at::Tensor& classes) const {
  return prediction.argmax(1).eq(classes);
}

absl::Status Top5::Check(const at::Tensor& prediction) const {
  if (prediction.dim() == 2 && prediction.size(1) >= kBest) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "Top5: expected a prediction float[n, classes] of ", kBest,
      " classes or more, but found ", Value(prediction).ShapeString()));
}

at::Tensor Top5::Right(const at::Tensor& prediction,
                       const at::Tensor& classes) const {
  const at::Tensor best = std::get<1>(prediction.topk(kBest, 1));
  return best.eq(classes.unsqueeze(1)).any(1);
}

std::unique_ptr<Metric> BuildAccuracy(const BuildArgs& args) {
  return BuildChecked<Metric>(args, "metric Accuracy",
                              [](recipe::Params& params) {
                                params.Ignore("dist_sync_on_step");
                                return std::make_unique<Accuracy>();
                              });
}

std::unique_ptr<Metric> BuildTop5(const BuildArgs& args) {
  return BuildChecked<Metric>(args, "metric Top5", [](recipe::Params& params) {
    params.Ignore("dist_sync_on_step");
    return std::make_unique<Top5>();
  });
}

void RegisterMetrics(Components& components) {
  components.metrics.Add("Accuracy", BuildAccuracy);
  components.metrics.Add("Top5", BuildTop5);
}

}  // namespace slipway::vision_classification
