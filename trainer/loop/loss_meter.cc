#include "trainer/loop/loss_meter.h"

#include <limits>

#include "ATen/ops/_local_scalar_dense.h"
#include "ATen/ops/add.h"
#include "ATen/ops/mul.h"

namespace slipway::loop {

void LossMeter::Reset() {
  sums_.clear();
  samples_ = 0;
}

void LossMeter::Add(const LossOutput& loss, int64_t samples) {
  AddTo(Find(""), loss.total, samples);
  for (const auto& [part, value] : loss.items) {
    AddTo(Find(part), value, samples);
  }
  samples_ += samples;
}

NamedValues LossMeter::Compute() const {
  if (samples_ == 0) return {{name_, std::numeric_limits<double>::quiet_NaN()}};
  NamedValues values;
  for (const auto& [part, sum] : SaveState().sums) {
    values.emplace_back(part.empty() ? name_ : name_ + "/" + part,
                        sum / static_cast<double>(samples_));
  }
  return values;
}

LossMeter::State LossMeter::SaveState() const {
  State state = {.samples = samples_, .sums = {}};
  for (const Sum& sum : sums_) {
    const double device =
        sum.device.defined() ? sum.device.item().toDouble() : 0;
    state.sums.emplace_back(sum.name, sum.host + device);
  }
  return state;
}

void LossMeter::LoadState(const State& state) {
  Reset();
  samples_ = state.samples;
  for (const auto& [part, sum] : state.sums) Find(part).host = sum;
}

void LossMeter::AddTo(Sum& sum, const at::Tensor& value, int64_t samples) {
  if (value.is_cpu()) {
    sum.host += value.item().toDouble() * static_cast<double>(samples);
    return;
  }
  const at::Tensor weighted = at::mul(value.detach().to(at::kDouble), samples);
  sum.device = sum.device.defined() ? at::add(sum.device, weighted) : weighted;
}

LossMeter::Sum& LossMeter::Find(std::string_view part) {
  for (Sum& sum : sums_) {
    if (sum.name == part) return sum;
  }
  return sums_.emplace_back(Sum{.name = std::string(part)});
}

}  // namespace slipway::loop
