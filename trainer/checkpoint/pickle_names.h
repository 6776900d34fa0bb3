// The closed set of Python names that a checkpoint's pickle may mention.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_PICKLE_NAMES_H_
#define SLIPWAY_TRAINER_CHECKPOINT_PICKLE_NAMES_H_

#include <string_view>
#include <vector>

namespace slipway {

// A dtype, and the legacy storage class that implies it (empty for dtypes that
// came after those classes; they travel as UntypedStorage).
struct DtypeName {
  std::string_view dtype;    // "float32", as in torch.float32
  std::string_view storage;  // "FloatStorage"
  int size;                  // bytes per element
};

const std::vector<DtypeName>& DtypeNames();

// Null if there is none.
const DtypeName* FindDtype(std::string_view dtype);
const DtypeName* FindStorage(std::string_view storage);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_PICKLE_NAMES_H_
