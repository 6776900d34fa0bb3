// Modules of LibTorch's own C++ interface, as parts of our models.
//
//   torch::nn::Sequential net(...);
//   model.Replace("head", nn::WrapTorchNn(net.ptr(), [net](const Value& x) {
//     return Value(net->forward(x.tensor()));
//   }));
//
// A wrapped module trains, moves, saves and loads like any other. Its parts
// cannot be replaced: torch::nn's forward would go on using the old ones.
#ifndef SLIPWAY_TRAINER_NN_TORCH_NN_H_
#define SLIPWAY_TRAINER_NN_TORCH_NN_H_

#include <memory>

#include "trainer/nn/module.h"

// torch/nn/module.h would cost each file that includes this one 10 seconds.
namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace slipway::nn {

// `forward` runs the module, for which torch::nn::Module has no function; it
// usually holds the typed pointer. The module's names become part of the state
// dict's: its parameters first, then its buffers.
std::unique_ptr<Module> WrapTorchNn(std::shared_ptr<torch::nn::Module> module,
                                    Module::ForwardFunction forward);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_TORCH_NN_H_
