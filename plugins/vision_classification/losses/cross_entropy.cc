#include "plugins/vision_classification/losses/cross_entropy.h"

#include <optional>

#include "ATen/core/Reduction.h"
#include "ATen/ops/cross_entropy_loss.h"
#include "ATen/ops/log_softmax.h"
#include "ATen/ops/nll_loss_nd.h"
#include "ATen/ops/tensor.h"
#include "absl/strings/str_cat.h"
#include "plugins/vision_classification/checked.h"
#include "plugins/vision_classification/target.h"

namespace slipway::vision_classification {
namespace {

at::Tensor OptionalTensor(const std::vector<double>& numbers) {
  if (numbers.empty()) return {};
  return at::tensor(numbers, at::TensorOptions(at::kFloat));
}

// `numbers` of one a class along dimension 1 of `like`.
at::Tensor AlongClasses(const at::Tensor& numbers, const at::Tensor& like) {
  std::vector<int64_t> shape(like.dim(), 1);
  shape[1] = numbers.size(0);
  return numbers.to(like.options()).view(shape);
}

// Reduced precision is for layers; a sum over classes needs all of it.
at::Tensor InFullPrecision(const at::Tensor& prediction) {
  return prediction.scalar_type() == at::kDouble ? prediction
                                                 : prediction.to(at::kFloat);
}

absl::Status CheckLength(const char* name, const at::Tensor& numbers,
                         const at::Tensor& prediction) {
  if (!numbers.defined() || numbers.size(0) == prediction.size(1)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "CrossEntropyLoss: \"", name, "\" has ", numbers.size(0),
      " numbers, but the prediction has ", prediction.size(1), " classes"));
}

}  // namespace

CrossEntropyLoss::CrossEntropyLoss(const CrossEntropyOptions& options)
    : options_(options),
      weight_(OptionalTensor(options.weight)),
      smooth_dist_(OptionalTensor(options.smooth_dist)) {}

std::vector<std::pair<std::string, at::Tensor>> CrossEntropyLoss::State()
    const {
  if (!weight_.defined()) return {};
  return {{"weight", weight_}};
}

absl::Status CrossEntropyLoss::Check(const Value& prediction,
                                     const Value& target) const {
  if (absl::Status s = CheckTarget("CrossEntropyLoss", prediction, target);
      !s.ok()) {
    return s;
  }
  absl::Status status = CheckLength("weight", weight_, prediction.tensor());
  status.Update(CheckLength("smooth_dist", smooth_dist_, prediction.tensor()));
  return status;
}

absl::StatusOr<LossOutput> CrossEntropyLoss::Compute(const Value& prediction,
                                                     const Value& target) {
  if (absl::Status s = Check(prediction, target); !s.ok()) return s;
  const at::Tensor scores = InFullPrecision(prediction.tensor());
  const at::Tensor total = IsDense(target.tensor())
                               ? OfDistribution(scores, target.tensor())
                               : OfClasses(scores, target.tensor());
  return LossOutput{.total = total};
}

at::Tensor CrossEntropyLoss::OfClasses(const at::Tensor& prediction,
                                       const at::Tensor& target) const {
  const at::Tensor classes = target.to(at::kLong);
  if (options_.smooth_eps > 0) return Smoothed(prediction, classes);
  std::optional<at::Tensor> weight;
  if (weight_.defined()) weight = weight_.to(prediction.options());
  const int64_t reduction =
      options_.sum ? at::Reduction::Sum : at::Reduction::Mean;
  if (options_.from_logits) {
    return at::cross_entropy_loss(prediction, classes, weight, reduction,
                                  options_.ignore_index);
  }
  return at::nll_loss_nd(prediction, classes, weight, reduction,
                         options_.ignore_index);
}

at::Tensor CrossEntropyLoss::OfDistribution(
    const at::Tensor& prediction, const at::Tensor& distribution) const {
  at::Tensor target = distribution;
  if (options_.smooth_eps > 0 && smooth_dist_.defined()) {
    target = target.lerp(AlongClasses(smooth_dist_, target).expand_as(target),
                         options_.smooth_eps);
  }
  return Reduce(target.mul(LogLikelihoods(prediction)).sum(1).neg(),
                /*ignored=*/{});
}

at::Tensor CrossEntropyLoss::Smoothed(const at::Tensor& prediction,
                                      const at::Tensor& classes) const {
  const at::Tensor likelihoods = LogLikelihoods(prediction);
  const at::Tensor ignored = classes.eq(options_.ignore_index);
  const at::Tensor index = classes.masked_fill(ignored, 0).unsqueeze(1);
  const at::Tensor of_class = likelihoods.gather(1, index).squeeze(1);
  const at::Tensor of_all =
      smooth_dist_.defined()
          ? likelihoods.mul(AlongClasses(smooth_dist_, likelihoods)).sum(1)
          : likelihoods.mean(1);
  const at::Tensor losses =
      of_class.lerp(of_all, options_.smooth_eps).neg().masked_fill(ignored, 0);
  return Reduce(losses, ignored);
}

at::Tensor CrossEntropyLoss::LogLikelihoods(
    const at::Tensor& prediction) const {
  const at::Tensor log_p =
      options_.from_logits ? at::log_softmax(prediction, 1) : prediction;
  return weight_.defined() ? log_p.mul(AlongClasses(weight_, log_p)) : log_p;
}

at::Tensor CrossEntropyLoss::Reduce(const at::Tensor& losses,
                                    const at::Tensor& ignored) const {
  if (options_.sum) return losses.sum();
  if (!ignored.defined()) return losses.mean();
  return losses.sum().div(ignored.logical_not().sum());
}

std::unique_ptr<Loss> BuildCrossEntropyLoss(const BuildArgs& args) {
  return BuildChecked<
      Loss>(args, "loss CrossEntropyLoss", [](recipe::Params& params) {
    const std::vector<double> none;
    CrossEntropyOptions options;
    options.weight = params.Doubles("weight", 0, none);
    options.ignore_index = params.Int("ignore_index", {.fallback = -100});
    options.sum = params.Text("reduction", "mean", {"mean", "sum"}) == "sum";
    options.smooth_eps =
        params.Double("smooth_eps", {.fallback = 0, .min = 0, .max = 1});
    options.smooth_dist = params.Doubles("smooth_dist", 0, none);
    options.from_logits = params.Bool("from_logits", true);
    return std::make_unique<CrossEntropyLoss>(options);
  });
}

void RegisterLosses(Components& components) {
  components.losses.Add("CrossEntropyLoss", BuildCrossEntropyLoss);
  // SuperGradients' former name.
  components.losses.Add("cross_entropy", BuildCrossEntropyLoss);
}

}  // namespace slipway::vision_classification
