// Cross entropy, with targets that are classes or distributions over them.
//
//   CrossEntropyLoss loss({.smooth_eps = 0.1});
//   loss.Compute(Value(logits), Value(classes));   // float[n, c], long[n]
//
// SuperGradients' CrossEntropyLoss, formula by formula, for images and for
// masks (float[n, c, ...], long[n, ...]; SuperGradients smooths images only).
// With p = softmax(prediction), K classes, weights w (1 without):
//
//   classes      mean of -w[y] log p[y], over the weights of all that count
//   smoothing    mean of -((1 - eps) w[y] log p[y] + eps / K sum_k w[k] log
//   p[k]) dense        mean of -sum_k t[k] w[k] log p[k]; t is not smoothed
//   again smooth_dist  as dense with t = (1 - eps) target + eps smooth_dist
//
// (Szegedy et al., "Rethinking the Inception architecture", 2015.) A mean is
// over samples, or pixels, whose class is not `ignore_index`; without any, it
// is nan.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_LOSSES_CROSS_ENTROPY_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_LOSSES_CROSS_ENTROPY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/plugin/components.h"
#include "trainer/plugin/loss.h"

namespace slipway::vision_classification {

struct CrossEntropyOptions {
  // For each class; empty for none.
  std::vector<double> weight;
  int64_t ignore_index = -100;
  bool sum = false;  // instead of the mean
  double smooth_eps = 0;
  // A distribution over the classes; empty for the uniform one.
  std::vector<double> smooth_dist;
  // False if predictions are logarithms of probabilities already.
  bool from_logits = true;
};

class CrossEntropyLoss : public Loss {
 public:
  explicit CrossEntropyLoss(const CrossEntropyOptions& options);

  // `prediction` is float[n, c, ...]. A target of integers is [n, ...], one of
  // numbers is a distribution over classes, [n, c, ...]. INVALID_ARGUMENT for
  // other shapes, and for weights of another number of classes; throws
  // c10::Error for a class that does not exist.
  absl::StatusOr<LossOutput> Compute(const Value& prediction,
                                     const Value& target) override;
  // "weight", if there is one.
  std::vector<std::pair<std::string, at::Tensor>> State() const override;

 private:
  absl::Status Check(const Value& prediction, const Value& target) const;
  at::Tensor OfClasses(const at::Tensor& prediction,
                       const at::Tensor& classes) const;
  at::Tensor OfDistribution(const at::Tensor& prediction,
                            const at::Tensor& distribution) const;
  at::Tensor Smoothed(const at::Tensor& prediction,
                      const at::Tensor& classes) const;
  // w[k] log p[k], [n, c, ...].
  at::Tensor LogLikelihoods(const at::Tensor& prediction) const;
  at::Tensor Reduce(const at::Tensor& losses, const at::Tensor& ignored) const;

  const CrossEntropyOptions options_;
  at::Tensor weight_;       // float[c], or undefined
  at::Tensor smooth_dist_;  // float[c], or undefined
};

// Parameters: weight, ignore_index (-100), reduction (mean or sum), smooth_eps
// (0), smooth_dist, from_logits (True).
std::unique_ptr<Loss> BuildCrossEntropyLoss(const BuildArgs& args);

void RegisterLosses(Components& components);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_LOSSES_CROSS_ENTROPY_H_
