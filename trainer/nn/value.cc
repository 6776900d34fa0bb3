#include "trainer/nn/value.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway {
namespace {

// The tensors that Unflatten() has not placed yet.
struct Cursor {
  const std::vector<at::Tensor>& tensors;
  size_t next = 0;

  at::Tensor Take(const at::Tensor&) {
    if (next == tensors.size()) {
      throw std::invalid_argument(absl::StrCat(
          "unflatten: the value holds more than the ", next, " tensors given"));
    }
    return tensors[next++];
  }
};

void AppendTensors(const Value& value, std::vector<at::Tensor>& out) {
  if (value.is_tensor()) out.push_back(value.tensor());
  if (value.is_list()) {
    for (const Value& item : value.list()) AppendTensors(item, out);
  }
  if (value.is_map()) {
    for (const auto& [key, item] : value.map()) AppendTensors(item, out);
  }
}

std::string TensorShape(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  std::string type = c10::toString(tensor.scalar_type());
  std::transform(type.begin(), type.end(), type.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return absl::StrCat(type, "[", absl::StrJoin(tensor.sizes(), ", "), "]");
}

}  // namespace

const Value* Value::Find(const std::string& key) const {
  for (const auto& [name, item] : map()) {
    if (name == key) return &item;
  }
  return nullptr;
}

std::vector<at::Tensor> Value::Flatten() const {
  std::vector<at::Tensor> tensors;
  AppendTensors(*this, tensors);
  return tensors;
}

Value Value::Unflatten(const std::vector<at::Tensor>& tensors) const {
  Cursor cursor{tensors};
  Value value =
      Transform([&](const at::Tensor& old) { return cursor.Take(old); });
  if (cursor.next != tensors.size()) {
    throw std::invalid_argument(absl::StrCat("unflatten: the value holds ",
                                             cursor.next, " tensors, but ",
                                             tensors.size(), " were given"));
  }
  return value;
}

Value Value::Transform(
    const std::function<at::Tensor(const at::Tensor&)>& f) const {
  if (is_tensor()) return Value(f(tensor()));
  if (is_list()) {
    List items;
    for (const Value& item : list()) items.push_back(item.Transform(f));
    return Value(std::move(items));
  }
  if (is_map()) {
    Map entries;
    for (const auto& [key, item] : map()) {
      entries.emplace_back(key, item.Transform(f));
    }
    return Value(std::move(entries));
  }
  return Value();
}

std::string Value::ShapeString() const {
  if (is_tensor()) return TensorShape(tensor());
  if (is_list()) {
    return absl::StrCat("[",
                        absl::StrJoin(list(), ", ",
                                      [](std::string* out, const Value& item) {
                                        out->append(item.ShapeString());
                                      }),
                        "]");
  }
  if (is_map()) {
    return absl::StrCat("{",
                        absl::StrJoin(map(), ", ",
                                      [](std::string* out, const auto& entry) {
                                        absl::StrAppend(
                                            out, entry.first, ": ",
                                            entry.second.ShapeString());
                                      }),
                        "}");
  }
  return "nothing";
}

}  // namespace slipway
