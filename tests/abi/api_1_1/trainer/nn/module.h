// A thin module tree on ATen functions whose parts can be replaced.
//
//   class Block : public nn::TensorModule {
//    public:
//     Block(int64_t in, int64_t out)
//         : conv_(Add("conv", nn::Conv2d({.in = in, .out = out, .kernel =
//         3}))),
//           bn_(Add("bn", nn::BatchNorm2d(out))) {}
//     std::string kind() const override { return "Block"; }
//
//    protected:
//     at::Tensor ForwardTensor(const at::Tensor& x) override {
//       return at::relu(bn_(conv_(x)));
//     }
//
//    private:
//     nn::Child conv_, bn_;
//   };
//
//   model.Replace("layer1.0.bn", std::make_unique<SyncBatchNorm>(...));
//
// A parent calls its children through Child handles, so that what Replace()
// puts in place is what runs and what NamedParameters() lists. torch::nn
// cannot do that: there forward keeps the member it was written with.
//
// Names and order are Python's: a state dict has a module's own parameters,
// then its own buffers, then its children, each in order of registration.
// Not thread-safe. Forward may throw c10::Error (a shape that does not fit), to
// which each module on the way adds a line "in conv1 (Conv2d), input
// float[..]"; the loop turns that into a Status once, at its edge.
#ifndef SLIPWAY_TRAINER_NN_MODULE_H_
#define SLIPWAY_TRAINER_NN_MODULE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/abi/api_1_1/trainer/nn/value.h"

namespace slipway::nn {

class Module;

using NamedTensor = std::pair<std::string, at::Tensor>;

// A module's handle on one of its children: calls whatever is in that place
// now. Copyable; valid as long as the parent lives.
class Child {
 public:
  Child() = default;
  at::Tensor operator()(const at::Tensor& x) const;
  Value operator()(const Value& x) const;
  Module& operator*() const;
  Module* operator->() const;
  explicit operator bool() const { return slot_ != nullptr; }

 private:
  friend class Module;
  explicit Child(std::unique_ptr<Module>* slot) : slot_(slot) {}
  std::unique_ptr<Module>* slot_ = nullptr;
};

class Module {
 public:
  using ForwardFunction = std::function<Value(const Value&)>;
  // Called in place of a module's Forward; calls `next` to run it.
  using ForwardWrapper =
      std::function<Value(const ForwardFunction& next, const Value& input)>;

  Module();
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // The layer's type as Python names it: "Conv2d", "BatchNorm2d", "ResNet".
  virtual std::string kind() const = 0;

  // Runs the module: its wrapper if it has one, else Forward.
  Value Run(const Value& input);
  // Shorthand for modules from one tensor to one tensor.
  at::Tensor Run(const at::Tensor& input);

  // Gradient checkpointing and the like; null removes it.
  void set_forward_wrapper(ForwardWrapper wrapper);

  // Train mode (the default) or evaluation mode, for the whole subtree.
  void Train(bool on = true);
  bool training() const { return training_; }

  // Direct children, by name, in order of registration.
  std::vector<std::pair<std::string, Module*>> Children() const;
  // The whole subtree, parents before children; "" is this module.
  std::vector<std::pair<std::string, Module*>> NamedModules();
  // Full names such as "layer1.0.conv1.weight", in state-dict order. A tensor
  // that is registered in several places is listed once, by its first name.
  std::vector<NamedTensor> NamedParameters() const;
  std::vector<NamedTensor> NamedBuffers() const;
  // Parameters and persistent buffers. The tensors are the module's own:
  // writing into them changes the module.
  std::vector<NamedTensor> StateDict() const;

  // The module at "layer1.0"; null if there is none. "" is this module.
  Module* Find(std::string_view path);
  // Puts `module` in the place of the descendant at `path` and returns the old
  // one. It takes on this module's train or evaluation mode. NOT_FOUND with the
  // nearest path; INVALID_ARGUMENT for "" or a null module;
  // FAILED_PRECONDITION inside an opaque module.
  absl::StatusOr<std::unique_ptr<Module>> Replace(
      std::string_view path, std::unique_ptr<Module> module);

  // The child that depends on the number of classes ("linear"), as the model's
  // author has named it: what `finetune` trains alone, and what starts afresh
  // where a checkpoint has other classes. Empty: none is named.
  const std::string& head() const;

  // Moves every parameter and buffer; gradients are dropped. `dtype` applies
  // to floating-point tensors only.
  void To(at::Device device);
  void To(at::ScalarType dtype);
  // Gives 4-d parameters channels_last strides (or contiguous ones).
  void To(at::MemoryFormat format);

  // True if the inside cannot be replaced (a wrapped torch::nn or TorchScript
  // module).
  virtual bool opaque() const { return false; }

 protected:
  // Computes the output. Throws c10::Error for what ATen refuses.
  virtual Value Forward(const Value& input) = 0;
  // What a module has beyond its own registrations (opaque modules).
  virtual std::vector<NamedTensor> OwnParameters() const;
  virtual std::vector<NamedTensor> OwnBuffers() const;
  // Called by Train() on each module.
  virtual void OnTrain(bool on) {}

  // Registration, in the constructor or later. A parameter requires gradients.
  // Undefined tensors are registered as absent (a Conv2d without bias): they
  // appear nowhere.
  at::Tensor AddParameter(std::string name, at::Tensor tensor);
  at::Tensor AddBuffer(std::string name, at::Tensor tensor,
                       bool persistent = true);
  Child Add(std::string name, std::unique_ptr<Module> module);
  void set_head(std::string child);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  bool training_ = true;
};

// A module from one tensor to one tensor: most layers.
class TensorModule : public Module {
 protected:
  virtual at::Tensor ForwardTensor(const at::Tensor& x) = 0;
  Value Forward(const Value& input) final;
};

// Copies `state` into the module's tensors by name. Strict: all missing,
// unexpected and misshapen names are listed in one INVALID_ARGUMENT and
// nothing is changed. Otherwise only what fits by name and shape is copied.
absl::Status LoadStateDict(Module& module,
                           const std::vector<NamedTensor>& state, bool strict);

// The number of scalars in all parameters.
int64_t CountParameters(const Module& module);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_MODULE_H_
