// CollateMixup.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ATen/ops/full.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/batches/batches.h"
#include "plugins/vision_classification/checked.h"

namespace slipway::vision_classification {
namespace {

enum class Mode { kBatch, kPair, kElem };

struct MixupOptions {
  double mixup_alpha = 1;
  double cutmix_alpha = 0;
  std::vector<double> cutmix_minmax;
  double prob = 1;
  double switch_prob = 0.5;
  Mode mode = Mode::kBatch;
  bool correct_lam = true;
  double label_smoothing = 0.1;
  int64_t num_classes = 1000;
};

// How much of an image stays, and which part of it goes: all of it (mixup) or
// a rectangle.
struct Mix {
  double kept = 1;
  bool cut = false;
  int64_t top = 0;
  int64_t left = 0;
  int64_t bottom = 0;
  int64_t right = 0;
};

double ReadProb(recipe::Params& params) {
  return params.Double("prob", {.fallback = 1, .min = 0, .max = 1});
}

// A side of `length`: a part whose middle lies anywhere, cut off at the ends.
std::pair<int64_t, int64_t> DrawSide(int64_t length, double share,
                                     data::Rng& rng) {
  const int64_t cut = static_cast<int64_t>(static_cast<double>(length) * share);
  const int64_t middle = rng.Below(length);
  return {std::clamp<int64_t>(middle - cut / 2, 0, length),
          std::clamp<int64_t>(middle + cut / 2, 0, length)};
}

// The same, of a length between two shares, wholly inside.
std::pair<int64_t, int64_t> DrawSideBetween(int64_t length,
                                            const std::vector<double>& shares,
                                            data::Rng& rng) {
  const auto part = [&](double share) {
    return static_cast<int64_t>(static_cast<double>(length) * share);
  };
  const int64_t least = part(shares[0]);
  const int64_t cut =
      least + rng.Below(std::max<int64_t>(part(shares[1]) - least, 1));
  const int64_t begin = rng.Below(std::max<int64_t>(length - cut, 1));
  return {begin, begin + cut};
}

class CollateMixup : public data::Collate {
 public:
  explicit CollateMixup(MixupOptions options)
      : options_(std::move(options)), stack_(data::StackCollate()) {}

  absl::Status Join(std::vector<data::Sample>& samples, data::Batch& batch,
                    data::Rng& rng) const override {
    absl::Status status = stack_->Join(samples, batch, rng);
    if (status.ok()) status = Check(batch);
    if (!status.ok()) return status;
    const at::Tensor images = batch.input.tensor();
    const std::vector<Mix> mixes =
        DrawAll(images.size(0), images.size(2), images.size(3), rng);
    at::Tensor mixed = Mixed(images, mixes);
    batch.target = Value(Targets(batch.target.tensor(), mixes));
    batch.input = Value(std::move(mixed));
    return absl::OkStatus();
  }

  absl::Status Set(std::string_view parameter,
                   const recipe::Node& value) override {
    if (parameter != "prob") return Collate::Set(parameter, value);
    return SetChecked(parameter, value, ReadProb, options_.prob);
  }

 private:
  absl::Status Check(const data::Batch& batch) const {
    const at::Tensor images = batch.input.tensor();
    if (images.dim() != 4 || images.scalar_type() != at::kFloat) {
      return absl::InvalidArgumentError(absl::StrCat(
          "CollateMixup mixes float[n, channels, height, width], found ",
          batch.input.ShapeString(), "; list ToTensor among the transforms"));
    }
    if (!batch.target.is_tensor() || batch.target.tensor().dim() != 1 ||
        batch.target.tensor().scalar_type() != at::kLong) {
      return absl::InvalidArgumentError(
          absl::StrCat("CollateMixup mixes targets long[n], found ",
                       batch.target.ShapeString()));
    }
    const int64_t most = batch.target.tensor().max().item<int64_t>();
    const int64_t least = batch.target.tensor().min().item<int64_t>();
    if (least >= 0 && most < options_.num_classes) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "a target is class ", least < 0 ? least : most,
        ", but num_classes of CollateMixup is ", options_.num_classes));
  }

  Mix Draw(int64_t height, int64_t width, data::Rng& rng) const {
    Mix mix;
    if (rng.Uniform() >= options_.prob) return mix;
    const bool both = options_.mixup_alpha > 0 && options_.cutmix_alpha > 0;
    mix.cut =
        both ? rng.Uniform() < options_.switch_prob : options_.cutmix_alpha > 0;
    const double alpha = mix.cut ? options_.cutmix_alpha : options_.mixup_alpha;
    mix.kept = rng.Beta(alpha, alpha);
    if (!mix.cut) return mix;
    const bool between = !options_.cutmix_minmax.empty();
    const double share = std::sqrt(1 - mix.kept);
    const auto side = [&](int64_t length) {
      return between ? DrawSideBetween(length, options_.cutmix_minmax, rng)
                     : DrawSide(length, share, rng);
    };
    std::tie(mix.top, mix.bottom) = side(height);
    std::tie(mix.left, mix.right) = side(width);
    if (options_.correct_lam || between) {
      const double cut =
          static_cast<double>((mix.bottom - mix.top) * (mix.right - mix.left));
      mix.kept = 1 - cut / static_cast<double>(height * width);
    }
    return mix;
  }

  // One for each image.
  std::vector<Mix> DrawAll(int64_t count, int64_t height, int64_t width,
                           data::Rng& rng) const {
    std::vector<Mix> mixes(count);
    for (int64_t i = 0; i < count; ++i) {
      const bool mirrored = options_.mode == Mode::kPair && i >= count / 2;
      if (mirrored) {
        mixes[i] = mixes[count - 1 - i];
      } else if (i > 0 && options_.mode == Mode::kBatch) {
        mixes[i] = mixes[0];
      } else {
        mixes[i] = Draw(height, width, rng);
      }
    }
    return mixes;
  }

  static at::Tensor Mixed(const at::Tensor& images,
                          const std::vector<Mix>& mixes) {
    at::Tensor result = images.clone();
    const int64_t count = images.size(0);
    for (int64_t i = 0; i < count; ++i) {
      const Mix& mix = mixes[i];
      at::Tensor image = result.select(0, i);
      const at::Tensor other = images.select(0, count - 1 - i);
      if (mix.cut) {
        const auto part = [&](const at::Tensor& of) {
          return of.slice(1, mix.top, mix.bottom).slice(2, mix.left, mix.right);
        };
        part(image).copy_(part(other));
      } else if (mix.kept != 1) {
        image.mul_(mix.kept).add_(other, 1 - mix.kept);
      }
    }
    return result;
  }

  // float[n, classes].
  at::Tensor Targets(const at::Tensor& classes,
                     const std::vector<Mix>& mixes) const {
    const double off =
        options_.label_smoothing / static_cast<double>(options_.num_classes);
    const double on = 1 - options_.label_smoothing;
    const int64_t count = classes.size(0);
    at::Tensor targets = at::full({count, options_.num_classes}, off,
                                  at::TensorOptions(at::kFloat));
    float* values = targets.mutable_data_ptr<float>();
    const at::Tensor dense = classes.contiguous();
    const int64_t* numbers = dense.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < count; ++i) {
      float* row = values + i * options_.num_classes;
      row[numbers[i]] += static_cast<float>(on * mixes[i].kept);
      row[numbers[count - 1 - i]] +=
          static_cast<float>(on * (1 - mixes[i].kept));
    }
    return targets;
  }

  MixupOptions options_;
  const std::unique_ptr<data::Collate> stack_;
};

void ReadMinMax(recipe::Params& params, MixupOptions& options) {
  if (!params.Has("cutmix_minmax")) {
    params.Ignore("cutmix_minmax");
    return;
  }
  options.cutmix_minmax = params.Doubles("cutmix_minmax", 2);
  options.cutmix_alpha = 1;
  if (options.cutmix_minmax.size() == 2 && options.cutmix_minmax[0] >= 0 &&
      options.cutmix_minmax[0] <= options.cutmix_minmax[1] &&
      options.cutmix_minmax[1] <= 1) {
    return;
  }
  params.Fail("cutmix_minmax",
              "\"cutmix_minmax\" must be two shares from 0 to 1, the lower one "
              "first");
}

Mode ReadMode(recipe::Params& params) {
  const std::string mode =
      params.Text("mode", "batch", {"batch", "pair", "elem"});
  if (mode == "pair") return Mode::kPair;
  return mode == "elem" ? Mode::kElem : Mode::kBatch;
}

}  // namespace

std::unique_ptr<data::Collate> BuildCollateMixup(const BuildArgs& args) {
  return BuildChecked<data::Collate>(
      args, "collate CollateMixup", [](recipe::Params& params) {
        MixupOptions options;
        options.mixup_alpha =
            params.Double("mixup_alpha", {.fallback = 1, .min = 0});
        options.cutmix_alpha =
            params.Double("cutmix_alpha", {.fallback = 0, .min = 0});
        ReadMinMax(params, options);
        options.prob = ReadProb(params);
        options.switch_prob =
            params.Double("switch_prob", {.fallback = 0.5, .min = 0, .max = 1});
        options.mode = ReadMode(params);
        options.correct_lam = params.Bool("correct_lam", true);
        options.label_smoothing = params.Double(
            "label_smoothing", {.fallback = 0.1, .min = 0, .max = 1});
        options.num_classes =
            params.Int("num_classes", {.fallback = 1000, .min = 1});
        if (options.mixup_alpha == 0 && options.cutmix_alpha == 0) {
          params.Fail("mixup_alpha",
                      "collate CollateMixup has neither mixup nor cutmix",
                      "set mixup_alpha or cutmix_alpha above 0");
        }
        return std::make_unique<CollateMixup>(std::move(options));
      });
}

}  // namespace slipway::vision_classification
