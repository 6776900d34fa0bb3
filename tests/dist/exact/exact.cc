// Makes trainings comparable.
//
//   +plugins.exact={}                       trains in double precision: what is
//                  equal but for rounding stays near for longer
//   +plugins.exact={nan_rank: 1, nan_batch: 3}     spoils a rank's batch
//   sampler: {Dealt: {ranks: 2, batch: 32}}        for one process: its batches
//                  are those that 2 ranks get, one after the other
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "trainer/plugin/plugin.h"
#include "trainer/recipe/params.h"

namespace slipway {
namespace {

// A shuffled order in which the batches of all ranks, whose samples are dealt
// out one by one, follow each other.
class Dealt : public data::Sampler {
 public:
  Dealt(std::unique_ptr<data::Sampler> whole, int64_t ranks, int64_t batch)
      : whole_(std::move(whole)), ranks_(ranks), batch_(batch) {}

  int64_t size() const override {
    return whole_->size() / (ranks_ * batch_) * (ranks_ * batch_);
  }

  std::vector<int64_t> Order(int64_t epoch) const override {
    const std::vector<int64_t> whole = whole_->Order(epoch);
    std::vector<int64_t> order;
    for (int64_t begin = 0; begin < size(); begin += ranks_ * batch_) {
      for (int64_t rank = 0; rank < ranks_; ++rank) {
        for (int64_t i = 0; i < batch_; ++i) {
          order.push_back(whole[begin + i * ranks_ + rank]);
        }
      }
    }
    return order;
  }

 private:
  const std::unique_ptr<data::Sampler> whole_;
  const int64_t ranks_;
  const int64_t batch_;
};

std::unique_ptr<data::Sampler> BuildDealt(const BuildArgs& args, int64_t size) {
  recipe::Params params(args.params, "sampler Dealt", args.problems);
  const int64_t ranks = params.Int("ranks", {.min = 1});
  const int64_t batch = params.Int("batch", {.min = 1});
  params.Finish();
  return std::make_unique<Dealt>(data::ShuffleSampler(size, args.seed), ranks,
                                 batch);
}

class Exact : public Plugin {
 public:
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(
      const recipe::Node& config) {
    return std::make_unique<Exact>(config);
  }

  explicit Exact(const recipe::Node& config)
      : double_(config.Find("double")->AsBool()),
        nan_rank_(config.Find("nan_rank")->AsInt()),
        nan_batch_(config.Find("nan_batch")->AsInt()) {}

  void Register(Components& components) override {
    components.samplers.Add("Dealt", BuildDealt);
  }

  absl::Status TransformModel(ModelContext& context) override {
    if (double_) context.model().To(at::kDouble);
    return absl::OkStatus();
  }

  absl::Status BatchFetched(BatchContext& context) override {
    const bool spoils =
        context.rank() == nan_rank_ && context.batch() == nan_batch_;
    Widen(context.current_batch().input);
    if (spoils) {
      at::Tensor images = context.current_batch().input.tensor();
      images.fill_(std::nan(""));
    }
    return absl::OkStatus();
  }

  absl::Status EvalForward(EvalContext& context) override {
    Value images = context.current_batch().input;
    Widen(images);
    context.prediction() = context.model().Run(images);
    return absl::OkStatus();
  }

 private:
  void Widen(Value& images) const {
    if (double_) images = images.tensor().to(at::kDouble);
  }

  const bool double_;
  const int64_t nan_rank_;
  const int64_t nan_batch_;
};

}  // namespace
}  // namespace slipway

SLIPWAY_PLUGIN("exact", "1.0.0", slipway::Exact);
