#include "trainer/loop/loss_spike.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace slipway::loop {
namespace {

// Of a normal distribution, the standard deviation over the median of the
// distances from its middle: 1 / quantile(3/4).
constexpr double kNormal = 1.4826;
constexpr double kLeastDeviation = 0.01;  // of the median

// Of an even number of values, the mean of the middle two.
double Median(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace

std::optional<std::string> LossSpike::Check(double loss) const {
  if (static_cast<int64_t>(losses_.size()) < rule_.window) return std::nullopt;
  std::vector<double> values(losses_.begin(), losses_.end());
  const double median = Median(values);
  for (double& value : values) value = std::abs(value - median);
  const double deviation =
      std::max(kNormal * Median(values), kLeastDeviation * std::abs(median));
  if (loss <= median + rule_.deviations * deviation) return std::nullopt;
  return absl::StrFormat(
      "the loss is %.4g, which is %.3g deviations of %.4g above %.4g, the "
      "median of the last %d steps",
      loss, (loss - median) / deviation, deviation, median, rule_.window);
}

void LossSpike::Add(double loss) {
  if (!std::isfinite(loss)) return;
  losses_.push_back(loss);
  if (static_cast<int64_t>(losses_.size()) > rule_.window) losses_.pop_front();
}

std::vector<double> LossSpike::losses() const {
  return {losses_.begin(), losses_.end()};
}

void LossSpike::set_losses(const std::vector<double>& losses) {
  losses_.clear();
  for (const double loss : losses) Add(loss);
}

}  // namespace slipway::loop
