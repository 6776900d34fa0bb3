#include "trainer/nn/activation_checkpoint.h"

#include <string>
#include <vector>

#include "ATen/Context.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "c10/core/GradMode.h"
#include "gtest/gtest.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/dropout.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/layers/sequential.h"

// As in the source: ATen/autocast_mode.h is heavy.
namespace at::autocast {
TORCH_API bool is_autocast_enabled(at::DeviceType device_type);
TORCH_API void set_autocast_enabled(at::DeviceType device_type, bool enabled);
TORCH_API void clear_cache();
}  // namespace at::autocast

namespace slipway::nn {
namespace {

// Counts its calls and remembers whether its output is still alive.
class Probe : public TensorModule {
 public:
  std::string kind() const override { return "Probe"; }
  int calls = 0;
  bool output_alive() const { return !output_.expired(); }

 protected:
  at::Tensor ForwardTensor(const at::Tensor& x) override {
    ++calls;
    const at::Tensor out = x.mul(2);
    output_ = c10::weak_intrusive_ptr<at::TensorImpl>(out.getIntrusivePtr());
    return out;
  }

 private:
  c10::weak_intrusive_ptr<at::TensorImpl> output_{
      c10::intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>()};
};

struct Model {
  Model() {
    at::manual_seed(1);
    auto owned = std::make_unique<Probe>();
    probe = owned.get();
    module = Sequential(
        Sequential(Conv2d({.in = 3, .out = 4, .kernel = 3}), BatchNorm2d(4),
                   std::move(owned), Conv2d({.in = 4, .out = 4}), Dropout(0.5)),
        Conv2d({.in = 4, .out = 2, .kernel = 3}));
  }
  std::unique_ptr<Module> module;
  Probe* probe;
};

// A step's output, the gradients of parameters and input, and the buffers.
std::vector<at::Tensor> Step(Module& module, bool input_needs_gradient) {
  at::manual_seed(2);
  const at::Tensor x =
      at::randn({2, 3, 8, 8}).set_requires_grad(input_needs_gradient);
  const at::Tensor out = module.Run(x);
  std::vector<at::Tensor> results = {out.detach(), at::randn({3})};
  out.sum().backward();
  results.push_back(at::randn({3}));  // the generator goes on where it was
  if (input_needs_gradient) results.push_back(x.grad());
  for (const auto& [name, parameter] : module.NamedParameters()) {
    results.push_back(parameter.grad());
  }
  for (const auto& [name, buffer] : module.NamedBuffers()) {
    results.push_back(buffer);
  }
  return results;
}

TEST(CheckpointActivations, ChangesNoNumber) {
  for (const bool input_needs_gradient : {true, false}) {
    Model plain, checkpointed;
    CheckpointActivations(*checkpointed.module->Find("0"));
    const auto expected = Step(*plain.module, input_needs_gradient);
    const auto found = Step(*checkpointed.module, input_needs_gradient);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(found[i].equal(expected[i])) << i;
    }
    EXPECT_EQ(plain.probe->calls, 1);
    EXPECT_EQ(checkpointed.probe->calls, 2);
  }
}

TEST(CheckpointActivations, KeepsNoActivationForTheBackwardPass) {
  Model plain, checkpointed;
  CheckpointActivations(*checkpointed.module->Find("0"));
  const at::Tensor x = at::ones({2, 3, 8, 8});
  const at::Tensor out = plain.module->Run(x);
  const at::Tensor same = checkpointed.module->Run(x);
  EXPECT_TRUE(plain.probe->output_alive());
  EXPECT_FALSE(checkpointed.probe->output_alive());
}

TEST(CheckpointActivations, RepeatsThePassUnderTheSameAutocast) {
  Model plain, checkpointed;
  CheckpointActivations(*checkpointed.module->Find("0"));
  std::vector<at::Tensor> gradients;
  for (const Model* model : {&plain, &checkpointed}) {
    at::manual_seed(2);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    const at::Tensor out = model->module->Run(at::randn({2, 3, 8, 8}));
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::clear_cache();
    EXPECT_EQ(out.scalar_type(), at::kBFloat16);
    out.sum().backward();
    EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
    gradients.push_back(model->module->NamedParameters()[0].second.grad());
  }
  EXPECT_TRUE(gradients[0].equal(gradients[1]));
}

TEST(CheckpointActivations, RunsOnceWithoutGradients) {
  Model model;
  CheckpointActivations(*model.module->Find("0"));
  const c10::AutoGradMode no_grad(false);
  EXPECT_FALSE(model.module->Run(at::ones({2, 3, 8, 8})).requires_grad());
  EXPECT_EQ(model.probe->calls, 1);
}

TEST(CheckpointActivations, TakesValuesOfSeveralTensors) {
  class Product : public Module {
   public:
    std::string kind() const override { return "Product"; }

   protected:
    Value Forward(const Value& x) override {
      const at::Tensor& a = x.list()[0].tensor();
      const at::Tensor& b = x.list()[1].tensor();
      return Value::Map{
          {"product", a.mul(b)}, {"index", a.argmax()}, {"same", a}};
    }
  } product;
  CheckpointActivations(product);
  const at::Tensor a = at::randn({3}).set_requires_grad(true);
  const at::Tensor b = at::randn({3});
  const Value out = product.Run(Value(Value::List{a, b}));
  EXPECT_FALSE(out.Find("index")->tensor().requires_grad());
  out.Find("product")->tensor().sum().backward();
  EXPECT_TRUE(a.grad().equal(b));
  EXPECT_FALSE(a.grad_fn());
}

TEST(CheckpointActivations, NoticesInputsThatWereOverwritten) {
  Model model;
  CheckpointActivations(*model.module->Find("0"));
  const at::Tensor x = at::ones({2, 3, 8, 8});
  const at::Tensor out = model.module->Run(x);
  x.mul_(2);
  EXPECT_THROW(out.sum().backward(), c10::Error);
}

}  // namespace
}  // namespace slipway::nn
