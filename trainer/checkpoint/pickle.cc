#include "trainer/checkpoint/pickle.h"

#include <utility>

namespace slipway {

namespace {

// What `content` holds as a T, or an empty T.
template <typename T, typename Content>
const T& Held(const Content& content) {
  static const T& empty = *new T();
  const T* held = std::get_if<T>(&content);
  return held == nullptr ? empty : *held;
}

}  // namespace

PickleValue::PickleValue(Kind kind, Content content)
    : kind_(kind), content_(std::move(content)) {}

PickleValue PickleValue::Bool(bool value) {
  return PickleValue(Kind::kBool, int64_t{value});
}

PickleValue PickleValue::Int(int64_t value) {
  return PickleValue(Kind::kInt, value);
}

PickleValue PickleValue::Float(double value) {
  return PickleValue(Kind::kFloat, value);
}

PickleValue PickleValue::String(std::string value) {
  return PickleValue(Kind::kString, std::move(value));
}

PickleValue PickleValue::Bytes(std::string value) {
  return PickleValue(Kind::kBytes, std::move(value));
}

PickleValue PickleValue::List(std::vector<PickleValue> items) {
  return PickleValue(Kind::kList, std::move(items));
}

PickleValue PickleValue::Tuple(std::vector<PickleValue> items) {
  return PickleValue(Kind::kTuple, std::move(items));
}

PickleValue PickleValue::Dict(std::vector<Item> items) {
  return PickleValue(Kind::kDict, std::move(items));
}

PickleValue PickleValue::Tensor(PickledTensor tensor) {
  return PickleValue(Kind::kTensor,
                     std::make_shared<const PickledTensor>(std::move(tensor)));
}

int64_t PickleValue::int_value() const { return Held<int64_t>(content_); }

double PickleValue::number() const {
  return kind_ == Kind::kFloat ? Held<double>(content_)
                               : static_cast<double>(int_value());
}

const std::string& PickleValue::text() const {
  return Held<std::string>(content_);
}

const std::vector<PickleValue>& PickleValue::items() const {
  return Held<std::vector<PickleValue>>(content_);
}

const std::vector<PickleValue::Item>& PickleValue::entries() const {
  return Held<std::vector<Item>>(content_);
}

const PickledTensor* PickleValue::tensor() const {
  return Held<std::shared_ptr<const PickledTensor>>(content_).get();
}

const PickleValue* PickleValue::Find(std::string_view key) const {
  for (const Item& item : entries()) {
    if (item.first.kind() == Kind::kString && item.first.text() == key) {
      return &item.second;
    }
  }
  return nullptr;
}

void PickleValue::Set(std::string key, PickleValue value) {
  std::get<std::vector<Item>>(content_).emplace_back(String(std::move(key)),
                                                     std::move(value));
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
