// Progressive resizing: Howard, "Training Imagenet in 3 hours for 25 dollars",
// 2018. From epoch to epoch the images grow from `first` to `last` pixels; the
// data set has a transform Resize. Each new size is an event of the run's log.
#include <cstdint>
#include <memory>

#include "trainer/plugin/plugin.h"
#include "trainer/recipe/params.h"

namespace {

using slipway::recipe::Node;

class ProgressiveResizing : public slipway::Plugin {
 public:
  ProgressiveResizing(int64_t first, int64_t last)
      : first_(first), last_(last) {}

  static absl::StatusOr<std::unique_ptr<slipway::Plugin>> Create(
      const Node& config) {
    slipway::Problems problems;
    slipway::recipe::Params params(config, "progressive_resizing", problems);
    const int64_t first = params.Int("first", {.fallback = 8, .min = 1});
    const int64_t last = params.Int("last", {.fallback = 16, .min = 1});
    params.Finish();
    if (slipway::HasErrors(problems)) {
      return absl::InvalidArgumentError(slipway::FormatProblems(problems));
    }
    return std::make_unique<ProgressiveResizing>(first, last);
  }

  absl::Status EpochBegin(slipway::FitContext& context) override {
    const int64_t steps =
        context.max_epochs() > 1 ? context.max_epochs() - 1 : 1;
    const int64_t size = first_ + (last_ - first_) * context.epoch() / steps;
    return context.SetLoaderParameter("transform.Resize", "size",
                                      Node::Int(size));
  }

  absl::Status BatchFetched(slipway::BatchContext& context) override {
    const int64_t size = context.current_batch().input.tensor().size(-1);
    if (size == told_) return absl::OkStatus();
    told_ = size;
    Node detail = Node::Map();
    detail.Set("pixels", Node::Int(size));
    context.Tell("resized", detail);
    return absl::OkStatus();
  }

 private:
  int64_t first_;
  int64_t last_;
  int64_t told_ = 0;
};

}  // namespace

SLIPWAY_PLUGIN("com.example.progressive_resizing", "1.0.0",
               ProgressiveResizing);
