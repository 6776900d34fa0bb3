// The dtypes that checkpoints can hold, by PyTorch's names.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_DTYPE_NAMES_H_
#define SLIPWAY_TRAINER_CHECKPOINT_DTYPE_NAMES_H_

#include <optional>
#include <string>
#include <string_view>

#include "c10/core/ScalarType.h"

namespace slipway {

// "float32", "bfloat16", "int64", ...
std::string DtypeNameOf(at::ScalarType type);

std::optional<at::ScalarType> ScalarTypeOf(std::string_view name);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_DTYPE_NAMES_H_
