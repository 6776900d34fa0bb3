// What models take and return: a tensor, a list or a string-keyed map of
// further values.
//
//   Value out = model.Run(Value(images));
//   const at::Tensor& logits = out.tensor();
//   Value two(Value::Map{{"main", a}, {"aux", b}});
//   std::vector<at::Tensor> flat = two.Flatten();      // a, b
//   Value back = two.Unflatten(flat);                  // same structure
//
// Values share their tensors as at::Tensor does; copying is shallow.
#ifndef SLIPWAY_TRAINER_NN_VALUE_H_
#define SLIPWAY_TRAINER_NN_VALUE_H_

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ATen/core/Tensor.h"

namespace slipway {

class Value {
 public:
  using List = std::vector<Value>;
  // Keeps the order in which it was built.
  using Map = std::vector<std::pair<std::string, Value>>;

  // Nothing: neither tensor, list nor map.
  Value() = default;
  Value(at::Tensor tensor) : data_(std::move(tensor)) {}  // NOLINT: a tensor
  Value(List list) : data_(std::move(list)) {}            // is a value
  Value(Map map) : data_(std::move(map)) {}

  bool empty() const { return data_.index() == 0; }
  bool is_tensor() const { return data_.index() == 1; }
  bool is_list() const { return data_.index() == 2; }
  bool is_map() const { return data_.index() == 3; }

  // The content; throws std::bad_variant_access when it is of another kind.
  const at::Tensor& tensor() const { return std::get<1>(data_); }
  const List& list() const { return std::get<2>(data_); }
  const Map& map() const { return std::get<3>(data_); }
  // The entry of a map, or null.
  const Value* Find(const std::string& key) const;

  // Every tensor, depth first, in order.
  std::vector<at::Tensor> Flatten() const;
  // The same structure around other tensors (as many as Flatten() gave; throws
  // std::invalid_argument otherwise).
  Value Unflatten(const std::vector<at::Tensor>& tensors) const;
  // The same structure with `f` applied to each tensor.
  Value Transform(const std::function<at::Tensor(const at::Tensor&)>& f) const;

  // "float[2, 3]", "[float[2], long[]]", "{main: float[2, 10]}".
  std::string ShapeString() const;

 private:
  std::variant<std::monostate, at::Tensor, List, Map> data_;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_NN_VALUE_H_
