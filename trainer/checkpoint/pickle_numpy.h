// The numbers that numpy puts into pickles. Internal to pickle_objects.cc.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_PICKLE_NUMPY_H_
#define SLIPWAY_TRAINER_CHECKPOINT_PICKLE_NUMPY_H_

#include <optional>
#include <string_view>

#include "trainer/checkpoint/pickle.h"

namespace slipway::pickle {

// The number that `bytes`, little-endian, are as numpy's dtype `code` ("f8",
// "i4", "u1", "b1", ...); nullopt for other dtypes and for another size.
// Unsigned numbers above 2^63 - 1 become floats.
std::optional<PickleValue> NumpyNumber(std::string_view code,
                                       std::string_view bytes);

}  // namespace slipway::pickle

#endif  // SLIPWAY_TRAINER_CHECKPOINT_PICKLE_NUMPY_H_
