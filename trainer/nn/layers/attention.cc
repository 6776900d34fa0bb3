#include "trainer/nn/layers/attention.h"

#include "ATen/ops/scaled_dot_product_attention.h"
#include "trainer/nn/layers/linear.h"
// After LibTorch's headers, which define CHECK too.
#include "glog/logging.h"

namespace slipway::nn {
namespace {

class SelfAttentionLayer : public LayerWith<SelfAttentionOptions> {
 public:
  explicit SelfAttentionLayer(const SelfAttentionOptions& o)
      : LayerWith(o),
        qkv_(Add(o.qkv_name, Linear({.in = o.dimension,
                                     .out = 3 * o.dimension,
                                     .bias = o.qkv_bias}))),
        proj_(Add("proj", Linear({.in = o.dimension, .out = o.dimension}))) {
    CHECK(o.heads > 0 && o.dimension % o.heads == 0)
        << o.heads << " heads do not divide " << o.dimension << " features";
  }
  std::string kind() const override { return "SelfAttention"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    const int64_t heads = options().heads;
    // [3, samples, heads, tokens, features of a head]; no size is spelt out, so
    // that a trace serves batches of any.
    const at::Tensor qkv =
        qkv_(x)
            .unflatten(2, {3, heads, options().dimension / heads})
            .permute({2, 0, 3, 1, 4});
    const at::Tensor heads_out = at::scaled_dot_product_attention(
        qkv.select(0, 0), qkv.select(0, 1), qkv.select(0, 2),
        /*attn_mask=*/{}, training() ? options().dropout : 0);
    return proj_(heads_out.transpose(1, 2).flatten(2));
  }

 private:
  Child qkv_, proj_;
};

}  // namespace

std::unique_ptr<Module> SelfAttention(const SelfAttentionOptions& options) {
  return std::make_unique<SelfAttentionLayer>(options);
}

}  // namespace slipway::nn
