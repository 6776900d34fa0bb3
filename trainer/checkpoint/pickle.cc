#include "trainer/checkpoint/pickle.h"

#include <utility>

namespace slipway {

PickleValue PickleValue::Bool(bool value) {
  PickleValue result;
  result.kind_ = Kind::kBool;
  result.int_ = value ? 1 : 0;
  return result;
}

PickleValue PickleValue::Int(int64_t value) {
  PickleValue result;
  result.kind_ = Kind::kInt;
  result.int_ = value;
  return result;
}

PickleValue PickleValue::Float(double value) {
  PickleValue result;
  result.kind_ = Kind::kFloat;
  result.float_ = value;
  return result;
}

PickleValue PickleValue::String(std::string value) {
  PickleValue result;
  result.kind_ = Kind::kString;
  result.text_ = std::move(value);
  return result;
}

PickleValue PickleValue::Bytes(std::string value) {
  PickleValue result = String(std::move(value));
  result.kind_ = Kind::kBytes;
  return result;
}

PickleValue PickleValue::List(std::vector<PickleValue> items) {
  PickleValue result;
  result.kind_ = Kind::kList;
  result.items_ = std::move(items);
  return result;
}

PickleValue PickleValue::Tuple(std::vector<PickleValue> items) {
  PickleValue result = List(std::move(items));
  result.kind_ = Kind::kTuple;
  return result;
}

PickleValue PickleValue::Dict(std::vector<Item> items) {
  PickleValue result;
  result.kind_ = Kind::kDict;
  result.entries_ = std::move(items);
  return result;
}

PickleValue PickleValue::Tensor(PickledTensor tensor) {
  PickleValue result;
  result.kind_ = Kind::kTensor;
  result.tensor_ = std::make_shared<const PickledTensor>(std::move(tensor));
  return result;
}

double PickleValue::number() const {
  return kind_ == Kind::kFloat ? float_ : static_cast<double>(int_);
}

const PickleValue* PickleValue::Find(std::string_view key) const {
  for (const Item& item : entries_) {
    if (item.first.kind() == Kind::kString && item.first.text() == key) {
      return &item.second;
    }
  }
  return nullptr;
}

void PickleValue::Set(std::string key, PickleValue value) {
  entries_.emplace_back(String(std::move(key)), std::move(value));
}

std::string_view KindName(PickleValue::Kind kind) {
  switch (kind) {
    case PickleValue::Kind::kNone:
      return "none";
    case PickleValue::Kind::kBool:
      return "bool";
    case PickleValue::Kind::kInt:
      return "int";
    case PickleValue::Kind::kFloat:
      return "float";
    case PickleValue::Kind::kString:
      return "text";
    case PickleValue::Kind::kBytes:
      return "bytes";
    case PickleValue::Kind::kList:
      return "list";
    case PickleValue::Kind::kTuple:
      return "tuple";
    case PickleValue::Kind::kDict:
      return "dict";
    case PickleValue::Kind::kTensor:
      return "tensor";
  }
  return "";
}

}  // namespace slipway
