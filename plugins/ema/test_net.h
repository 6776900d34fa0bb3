// A small model with a parameter, a floating-point buffer and an integer one.
#ifndef SLIPWAY_PLUGINS_EMA_TEST_NET_H_
#define SLIPWAY_PLUGINS_EMA_TEST_NET_H_

#include <string>

#include "ATen/core/Tensor.h"
#include "ATen/ops/full.h"
#include "c10/core/GradMode.h"
#include "trainer/nn/module.h"

namespace slipway::ema {

class TestNet : public nn::TensorModule {
 public:
  TestNet() {
    const at::Tensor filters =
        at::full({2, 3, 2, 2}, 1.0).contiguous(at::MemoryFormat::ChannelsLast);
    weight_ = AddParameter("weight", filters);
    mean_ = AddBuffer("running_mean", at::full({2}, 10.0));
    batches_ = AddBuffer("num_batches_tracked",
                         at::full({}, 0, at::TensorOptions().dtype(at::kLong)));
  }
  std::string kind() const override { return "TestNet"; }

  // What a step of training might leave behind.
  void Set(double weight, double mean, int64_t batches) {
    const c10::NoGradGuard no_grad;
    weight_.fill_(weight);
    mean_.fill_(mean);
    batches_.fill_(batches);
  }

  const at::Tensor& weight() const { return weight_; }
  const at::Tensor& mean() const { return mean_; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return x.mul(weight_.mean()).add(mean_.mean());
  }

 private:
  at::Tensor weight_;
  at::Tensor mean_;
  at::Tensor batches_;
};

}  // namespace slipway::ema

#endif  // SLIPWAY_PLUGINS_EMA_TEST_NET_H_
