// How a state dict fits a module's.
//
//   const StateDictFit fit = CompareStateDicts(module.StateDict(), loaded);
//   if (!fit.exact()) return absl::InvalidArgumentError(fit.ToString());
//
// Values only.
#ifndef SLIPWAY_TRAINER_NN_STATE_DICT_H_
#define SLIPWAY_TRAINER_NN_STATE_DICT_H_

#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/nn/module.h"

namespace slipway::nn {

struct StateDictFit {
  std::vector<std::string> missing;     // the module's names
  std::vector<std::string> unexpected;  // the state dict's names
  std::vector<std::string> misshapen;   // "x is [3], expected [2]"
  // What fits: the module's tensor, and the one to be copied into it.
  std::vector<std::pair<at::Tensor, at::Tensor>> fitting;

  bool exact() const {
    return missing.empty() && unexpected.empty() && misshapen.empty();
  }
  // A line per kind of mismatch, "\n  missing (1): x"; the first twenty names
  // of each. A missing name is followed by the nearest of the unexpected ones.
  std::string ToString() const;
  // Copies what fits; gradients are not recorded.
  void CopyFitting() const;
};

// By name and shape; types may differ, copying converts.
StateDictFit CompareStateDicts(const std::vector<NamedTensor>& own,
                               const std::vector<NamedTensor>& given);

// "[2, 3]"
std::string ShapeText(const at::Tensor& tensor);

}  // namespace slipway::nn

#endif  // SLIPWAY_TRAINER_NN_STATE_DICT_H_
