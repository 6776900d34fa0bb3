#include "trainer/nn/layers/embedding.h"

#include "ATen/ops/embedding.h"
#include "ATen/ops/empty.h"
#include "trainer/nn/init.h"

namespace slipway::nn {
namespace {

at::Tensor InitialTable(const EmbeddingOptions& options) {
  const at::Tensor table = at::empty({options.entries, options.dimension});
  Normal(table);
  if (options.padding) table[*options.padding].zero_();
  return table;
}

class EmbeddingLayer : public LayerWith<EmbeddingOptions> {
 public:
  explicit EmbeddingLayer(const EmbeddingOptions& o)
      : LayerWith(o), weight_(AddParameter("weight", InitialTable(o))) {}
  std::string kind() const override { return "Embedding"; }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& indices) override {
    constexpr int64_t kNoPadding = -1;
    return at::embedding(weight_, indices,
                         options().padding.value_or(kNoPadding));
  }

 private:
  at::Tensor weight_;
};

}  // namespace

std::unique_ptr<Module> Embedding(const EmbeddingOptions& options) {
  return std::make_unique<EmbeddingLayer>(options);
}

}  // namespace slipway::nn
