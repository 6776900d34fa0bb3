// The part of Python's pickle format that PyTorch's state dicts use, as plain
// values.
//
//   absl::StatusOr<PickleValue> tree = Unpickle(bytes);
//   const PickleValue* net = tree->Find("net");
//
// A pickle is a program; this reader runs none. It knows a closed set of
// opcodes and of names (collections.OrderedDict, torch._utils's rebuild
// functions, torch's storage classes, dtypes, Size and device, numpy's
// scalars): anything else is refused by name. Cycles, deep nesting, a key that
// a dict has twice and what blows up by sharing are refused too. The writer
// emits protocol 2, which torch.load(weights_only=True) accepts.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_PICKLE_H_
#define SLIPWAY_TRAINER_CHECKPOINT_PICKLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace slipway {

// A tensor as the pickle describes it: a view of a storage, which is a record
// of its own in the archive ("archive/data/<key>").
struct PickledTensor {
  // "float32", "bfloat16", "int64", ...: PyTorch's name of the dtype.
  std::string dtype;
  std::string storage_key;
  int64_t storage_elements = 0;
  int64_t offset = 0;  // in elements
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // in elements
};

class PickleValue {
 public:
  enum class Kind {
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kBytes,
    kList,
    kTuple,
    kDict,
    kTensor,
  };
  using Item = std::pair<PickleValue, PickleValue>;

  PickleValue() = default;  // None
  static PickleValue Bool(bool value);
  static PickleValue Int(int64_t value);
  static PickleValue Float(double value);
  static PickleValue String(std::string value);
  static PickleValue Bytes(std::string value);
  static PickleValue List(std::vector<PickleValue> items);
  static PickleValue Tuple(std::vector<PickleValue> items);
  static PickleValue Dict(std::vector<Item> items = {});
  static PickleValue Tensor(PickledTensor tensor);

  Kind kind() const { return kind_; }
  bool is_dict() const { return kind_ == Kind::kDict; }
  // The content; of another kind: false, 0, "" or empty.
  bool bool_value() const { return int_value() != 0; }
  int64_t int_value() const;
  // Integers count as numbers.
  double number() const;
  const std::string& text() const;
  const std::vector<PickleValue>& items() const;
  const std::vector<Item>& entries() const;
  // Null unless this is a tensor.
  const PickledTensor* tensor() const;

  // The value of a text key of a dict; null if absent.
  const PickleValue* Find(std::string_view key) const;
  // Appends to a dict.
  void Set(std::string key, PickleValue value);

 private:
  // Trees have many small values: none pays for what another kind holds.
  using Content =
      std::variant<int64_t, double, std::string, std::vector<PickleValue>,
                   std::vector<Item>, std::shared_ptr<const PickledTensor>>;
  PickleValue(Kind kind, Content content);

  Kind kind_ = Kind::kNone;
  Content content_;
};

// "none", "bool", "int", "float", "text", "bytes", "list", "tuple", "dict" or
// "tensor".
std::string_view KindName(PickleValue::Kind kind);

// Bytes per element of a dtype; 0 if it is unknown.
int64_t DtypeSize(std::string_view dtype);

// Reads one pickle. INVALID_ARGUMENT names the opcode or the name that is
// refused and its offset; DATA_LOSS for a truncated one. Memory stays within
// 300 bytes for each of `bytes`, and within 4 GiB: pickles above 64 MiB, or
// with more than 4 Mi values, are refused.
absl::StatusOr<PickleValue> Unpickle(std::string_view bytes);

// The pickle of `value`, which holds no Bytes (CHECKed): weights_only readers
// do not know them; a uint8 tensor serves.
std::string Pickle(const PickleValue& value);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_PICKLE_H_
