// RepeatAugSampler.
#include <memory>
#include <numeric>
#include <vector>

#include "plugins/vision_classification/batches/batches.h"
#include "plugins/vision_classification/checked.h"

namespace slipway::vision_classification {
namespace {

struct RepeatOptions {
  double repeats = 3;
  bool shuffle = true;
  int64_t round = 256;
};

class RepeatAugSampler : public data::Sampler {
 public:
  RepeatAugSampler(int64_t samples, const RepeatOptions& options, uint64_t seed)
      : samples_(samples), options_(options), seed_(seed) {}

  int64_t size() const override {
    // A data set of less than that is shown whole.
    const bool rounded = options_.round > 0 && samples_ >= options_.round;
    return rounded ? samples_ / options_.round * options_.round : samples_;
  }

  std::vector<int64_t> Order(int64_t epoch) const override {
    std::vector<int64_t> indices(samples_);
    std::iota(indices.begin(), indices.end(), int64_t{0});
    if (options_.shuffle) {
      indices = data::Rng(seed_, epoch, 0, data::Rng::Stream::kSampler)
                    .Permutation(samples_);
    }
    std::vector<int64_t> order(size());
    for (int64_t place = 0; place < size(); ++place) {
      order[place] = indices[static_cast<int64_t>(static_cast<double>(place) /
                                                  options_.repeats)];
    }
    return order;
  }

 private:
  const int64_t samples_;
  const RepeatOptions options_;
  const uint64_t seed_;
};

}  // namespace

std::unique_ptr<data::Sampler> BuildRepeatAugSampler(const BuildArgs& args,
                                                     int64_t size) {
  return BuildChecked<data::Sampler>(
      args, "sampler RepeatAugSampler", [&](recipe::Params& params) {
        RepeatOptions options;
        options.repeats =
            params.Double("num_repeats", {.fallback = 3, .min = 1});
        options.shuffle = params.Bool("shuffle", true);
        options.round =
            params.Int("selected_round", {.fallback = 256, .min = 0});
        if (params.Int("selected_ratio", {.fallback = 0, .min = 0}) > 0) {
          params.Fail("selected_ratio",
                      "\"selected_ratio\" of sampler RepeatAugSampler is not "
                      "supported",
                      "leave it out: it is the number of ranks then");
        }
        return std::make_unique<RepeatAugSampler>(size, options, args.seed);
      });
}

void RegisterBatches(Components& components) {
  components.collates.Add("CollateMixup", BuildCollateMixup);
  components.samplers.Add("RepeatAugSampler", BuildRepeatAugSampler);
}

}  // namespace slipway::vision_classification
