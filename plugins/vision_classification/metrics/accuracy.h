// How often the right class is the best, or among the best five.
//
//   Accuracy accuracy;
//   accuracy.Update(Value(logits), Value(classes), batch.valid);
//   accuracy.Compute();   // {{"Accuracy", 0.984}}
//
// Accuracy is for images and masks (float[n, c, ...] with long[n, ...]), Top5
// for images. Targets may be distributions, float[n, c]: then the most likely
// class is right. One meter, long[2]: how many were right, and of how many.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_METRICS_ACCURACY_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_METRICS_ACCURACY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "trainer/plugin/components.h"
#include "trainer/plugin/metric.h"

namespace slipway::vision_classification {

// A metric that is the share of what was right.
class Share : public Metric {
 public:
  void Reset() override;
  // INVALID_ARGUMENT for shapes that do not fit.
  absl::Status Update(const Value& prediction, const Value& target,
                      int64_t valid) override;
  // From 0 to 1.
  std::vector<std::pair<std::string, double>> Compute() const override;
  std::vector<at::Tensor> Meters() override { return {meter_}; }

 protected:
  explicit Share(std::string name);
  // Which of `classes`, long[n, ...], are right: bool[n, ...].
  virtual at::Tensor Right(const at::Tensor& prediction,
                           const at::Tensor& classes) const = 0;
  // A prediction that Right() can judge.
  virtual absl::Status Check(const at::Tensor& prediction) const;

 private:
  void MoveTo(at::Device device);

  const std::string name_;
  at::Tensor meter_;
  // Views of it: how many were right, of how many.
  at::Tensor right_, count_;
};

class Accuracy : public Share {
 public:
  Accuracy() : Share("Accuracy") {}

 protected:
  at::Tensor Right(const at::Tensor& prediction,
                   const at::Tensor& classes) const override;
};

// INVALID_ARGUMENT for predictions of fewer than five classes, among which
// every class is one of the best five.
class Top5 : public Share {
 public:
  Top5() : Share("Top5") {}

 protected:
  at::Tensor Right(const at::Tensor& prediction,
                   const at::Tensor& classes) const override;
  absl::Status Check(const at::Tensor& prediction) const override;
};

// Neither has parameters but SuperGradients' dist_sync_on_step, which has no
// effect: meters are summed over ranks when they are read.
std::unique_ptr<Metric> BuildAccuracy(const BuildArgs& args);
std::unique_ptr<Metric> BuildTop5(const BuildArgs& args);

void RegisterMetrics(Components& components);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_METRICS_ACCURACY_H_
