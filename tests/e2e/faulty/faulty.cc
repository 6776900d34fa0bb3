// Spoils a batch of each epoch, or keeps state that no checkpoint has, as its
// configuration says: {nan_batch: 3}, {forgets: true}.
#include <cmath>
#include <cstdint>
#include <memory>

#include "trainer/plugin/plugin.h"

namespace slipway {
namespace {

class Faulty : public Plugin {
 public:
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(
      const recipe::Node& config) {
    return std::make_unique<Faulty>(config);
  }

  explicit Faulty(const recipe::Node& config)
      : nan_batch_(config.Find("nan_batch")->AsInt()),
        forgets_(config.Find("forgets")->AsBool()) {}

  absl::Status BatchFetched(BatchContext& context) override {
    if (context.batch() != nan_batch_) return absl::OkStatus();
    at::Tensor images = context.current_batch().input.tensor();
    images.fill_(std::nan(""));
    return absl::OkStatus();
  }

  // SaveState would have to save the count.
  absl::Status AfterLoss(OutputContext& context) override {
    if (!forgets_) return absl::OkStatus();
    at::Tensor& loss = context.loss().total;
    loss = loss.mul(1 + 0.01 * static_cast<double>(++batches_));
    return absl::OkStatus();
  }

 private:
  const int64_t nan_batch_;
  const bool forgets_;
  int64_t batches_ = 0;
};

}  // namespace
}  // namespace slipway

SLIPWAY_PLUGIN("faulty", "1.0.0", slipway::Faulty);
