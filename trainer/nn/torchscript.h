// TorchScript modules, such as Python's torch.jit.save writes, as our models.
//
//   absl::StatusOr<std::unique_ptr<nn::Module>> net =
//       nn::LoadTorchScript("net.pt");
//
// Such a module trains, moves, saves and loads like any other. Its parts cannot
// be replaced: the script names them.
//
// A value becomes forward's arguments: a tensor the only one, a list as many,
// a map keyword arguments; each a tensor. What forward returns becomes a value:
// tuples and lists a list, dictionaries with strings as keys a map, None an
// empty value. Anything else throws c10::Error.
#ifndef SLIPWAY_TRAINER_NN_TORCHSCRIPT_H_
#define SLIPWAY_TRAINER_NN_TORCHSCRIPT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/nn/module.h"

// torch/csrc/jit/api/module.h would cost each file that includes this one
// 9 seconds.
namespace torch::jit {
struct Module;
}  // namespace torch::jit

namespace slipway::nn {

// NOT_FOUND if there is no such file, INVALID_ARGUMENT if it is no TorchScript.
// Its tensors are on the CPU.
absl::StatusOr<std::unique_ptr<Module>> LoadTorchScript(
    const std::string& path);

// Shares `module`'s parameters and buffers. Puts it into train mode.
std::unique_ptr<Module> WrapTorchScript(const torch::jit::Module& module);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_TORCHSCRIPT_H_
