#include "trainer/nn/layers/norm.h"

#include "ATen/ops/batch_norm.h"
#include "ATen/ops/group_norm.h"
#include "ATen/ops/layer_norm.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/zeros.h"
#include "c10/util/Exception.h"
// After LibTorch's headers, which define CHECK too.
#include "glog/logging.h"

namespace slipway::nn {
namespace {

at::Tensor OnesIf(bool wanted, at::IntArrayRef shape) {
  return wanted ? at::ones(shape) : at::Tensor();
}
at::Tensor ZerosIf(bool wanted, at::IntArrayRef shape,
                   at::ScalarType dtype = at::kFloat) {
  return wanted ? at::zeros(shape, dtype) : at::Tensor();
}

class BatchNormLayer : public LayerWith<BatchNormOptions> {
 public:
  BatchNormLayer(const BatchNormOptions& o, int dimensions)
      : LayerWith(o),
        dimensions_(dimensions),
        weight_(AddParameter("weight", OnesIf(o.affine, {o.features}))),
        bias_(AddParameter("bias", ZerosIf(o.affine, {o.features}))),
        mean_(AddBuffer("running_mean",
                        ZerosIf(o.track_running_stats, {o.features}))),
        var_(AddBuffer("running_var",
                       OnesIf(o.track_running_stats, {o.features}))),
        batches_(AddBuffer("num_batches_tracked",
                           ZerosIf(o.track_running_stats, {}, at::kLong))) {}
  std::string kind() const override {
    return dimensions_ == 2 ? "BatchNorm2d" : "BatchNorm1d";
  }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    CheckInput(x);
    const bool tracks = training() && mean_.defined();
    if (tracks) batches_.add_(1);
    return at::batch_norm(x, weight_, bias_, mean_, var_,
                          training() || !mean_.defined(),
                          tracks ? Momentum() : 0, options().eps,
                          /*cudnn_enabled=*/true);
  }

 private:
  double Momentum() const {
    if (options().momentum) return *options().momentum;
    return 1 / batches_.item<double>();
  }

  void CheckInput(const at::Tensor& x) const {
    const bool fits =
        dimensions_ == 2 ? x.dim() == 4 : x.dim() == 2 || x.dim() == 3;
    TORCH_CHECK(fits, kind(), " takes ",
                dimensions_ == 2 ? "[N, C, H, W]" : "[N, C] or [N, C, L]",
                ", not ", x.sizes());
    TORCH_CHECK(!training() || x.numel() != x.size(1),
                "one value a channel is too few to normalise a batch by: ",
                x.sizes(), "; train with larger batches or images");
  }

  int dimensions_;
  at::Tensor weight_, bias_, mean_, var_, batches_;
};

class LayerNormLayer : public LayerWith<LayerNormOptions> {
 public:
  explicit LayerNormLayer(const LayerNormOptions& o)
      : LayerWith(o),
        weight_(AddParameter("weight", OnesIf(o.affine, o.shape))),
        bias_(AddParameter("bias", ZerosIf(o.affine, o.shape))) {}
  std::string kind() const override { return "LayerNorm"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return at::layer_norm(x, options().shape, weight_, bias_, options().eps);
  }

 private:
  at::Tensor weight_, bias_;
};

class GroupNormLayer : public LayerWith<GroupNormOptions> {
 public:
  explicit GroupNormLayer(const GroupNormOptions& o)
      : LayerWith(o),
        weight_(AddParameter("weight", OnesIf(o.affine, {o.channels}))),
        bias_(AddParameter("bias", ZerosIf(o.affine, {o.channels}))) {
    CHECK(o.groups > 0 && o.channels % o.groups == 0)
        << o.groups << " groups do not divide " << o.channels << " channels";
  }
  std::string kind() const override { return "GroupNorm"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    return at::group_norm(x, options().groups, weight_, bias_, options().eps);
  }

 private:
  at::Tensor weight_, bias_;
};

}  // namespace

std::unique_ptr<Module> BatchNorm2d(const BatchNormOptions& options) {
  return std::make_unique<BatchNormLayer>(options, 2);
}

std::unique_ptr<Module> BatchNorm2d(int64_t features) {
  return BatchNorm2d(BatchNormOptions{.features = features});
}

std::unique_ptr<Module> BatchNorm1d(const BatchNormOptions& options) {
  return std::make_unique<BatchNormLayer>(options, 1);
}

std::unique_ptr<Module> LayerNorm(const LayerNormOptions& options) {
  return std::make_unique<LayerNormLayer>(options);
}

std::unique_ptr<Module> GroupNorm(const GroupNormOptions& options) {
  return std::make_unique<GroupNormLayer>(options);
}

}  // namespace slipway::nn
