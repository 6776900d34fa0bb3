// Modules that run one after the other.
//
//   Add("shortcut", nn::Sequential(nn::Conv2d({.in = 64, .out = 128}),
//                                  nn::BatchNorm2d(128)));
//
// Children are named "0", "1", ... as Python's; an empty one is the identity.
#ifndef SLIPWAY_TRAINER_NN_LAYERS_SEQUENTIAL_H_
#define SLIPWAY_TRAINER_NN_LAYERS_SEQUENTIAL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/nn/module.h"

namespace slipway::nn {

using ModuleList = std::vector<std::unique_ptr<Module>>;
using NamedModuleList =
    std::vector<std::pair<std::string, std::unique_ptr<Module>>>;

std::unique_ptr<Module> Sequential(ModuleList modules);

// With names of one's own, as from Python's OrderedDict.
std::unique_ptr<Module> NamedSequential(NamedModuleList modules);

template <typename... Modules>
std::unique_ptr<Module> Sequential(std::unique_ptr<Modules>... modules) {
  ModuleList list;
  (list.push_back(std::move(modules)), ...);
  return Sequential(std::move(list));
}

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_LAYERS_SEQUENTIAL_H_
