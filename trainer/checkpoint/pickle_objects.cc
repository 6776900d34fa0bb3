#include "trainer/checkpoint/pickle_objects.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace slipway::pickle {
namespace {

constexpr int kMaxDepth = 64;

absl::Status Refuse(std::string_view what) {
  return absl::InvalidArgumentError(std::string(what));
}

Object Global(std::string name, const DtypeName* dtype = nullptr) {
  Object object;
  object.kind = Object::Kind::kGlobal;
  object.value = PickleValue::String(std::move(name));
  object.dtype = dtype;
  return object;
}

bool IsInt(const Object& object) {
  return object.kind == Object::Kind::kPlain &&
         object.value.kind() == PickleValue::Kind::kInt;
}

// A tuple of integers, none negative.
std::optional<std::vector<int64_t>> Extents(const Object& object) {
  if (object.kind != Object::Kind::kTuple) return std::nullopt;
  std::vector<int64_t> result;
  for (const ObjectPtr& item : object.items) {
    if (!IsInt(*item) || item->value.int_value() < 0) return std::nullopt;
    result.push_back(item->value.int_value());
  }
  return result;
}

// True if the view's last element lies inside the storage, without overflow.
bool Inside(const PickledTensor& tensor) {
  int64_t last = tensor.offset;
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    if (tensor.sizes[i] == 0) return tensor.offset <= tensor.storage_elements;
    int64_t step = 0;
    if (__builtin_mul_overflow(tensor.sizes[i] - 1, tensor.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return false;
    }
  }
  return last < tensor.storage_elements;
}

// A view may repeat elements (an expanded tensor), but not without bound: the
// reader allocates what the view shows.
bool ReasonableSize(const PickledTensor& tensor) {
  int64_t count = 1;
  for (int64_t size : tensor.sizes) {
    if (size == 0) return true;
    if (__builtin_mul_overflow(count, size, &count)) return false;
  }
  return count <= tensor.storage_elements;
}

// (storage, offset, sizes, strides, requires_grad, hooks[, dtype]).
absl::StatusOr<ObjectPtr> RebuildTensor(Arena& arena,
                                        const std::vector<ObjectPtr>& items,
                                        bool names_dtype) {
  const size_t needed = names_dtype ? 7 : 4;
  if (items.size() < needed) return Refuse("a tensor with too few arguments");
  const Object& storage = *items[0];
  const auto sizes = Extents(*items[2]);
  const auto strides = Extents(*items[3]);
  const DtypeName* dtype = names_dtype ? items[6]->dtype : storage.dtype;
  if (storage.kind != Object::Kind::kStorage || dtype == nullptr ||
      !IsInt(*items[1]) || !sizes || !strides ||
      sizes->size() != strides->size()) {
    return Refuse("a tensor with arguments of a wrong kind");
  }
  PickledTensor tensor = {
      .dtype = std::string(dtype->dtype),
      .storage_key = storage.storage_key,
      .storage_elements = storage.dtype != nullptr
                              ? storage.elements
                              : storage.elements / dtype->size,
      .offset = items[1]->value.int_value(),
      .sizes = *sizes,
      .strides = *strides,
  };
  if (tensor.offset < 0 || !Inside(tensor)) {
    return Refuse(absl::StrCat("a tensor that reaches outside its storage \"",
                               storage.storage_key, "\""));
  }
  if (!ReasonableSize(tensor)) {
    return Refuse(absl::StrCat("a tensor larger than its storage \"",
                               storage.storage_key, "\""));
  }
  return arena.Plain(PickleValue::Tensor(std::move(tensor)));
}

// OrderedDict() or OrderedDict([(key, value), ...]).
absl::StatusOr<ObjectPtr> MakeDict(Arena& arena,
                                   const std::vector<ObjectPtr>& arguments) {
  ObjectPtr dict = arena.Sequence(Object::Kind::kDict, {});
  if (arguments.empty()) return dict;
  for (const ObjectPtr& pair : arguments[0]->items) {
    if (pair->items.size() != 2) return Refuse("a dict of odd entries");
    dict->items.push_back(pair->items[0]);
    dict->items.push_back(pair->items[1]);
  }
  return dict;
}

// Turns shared, growing objects into a value, within a budget.
class Converter {
 public:
  explicit Converter(uint64_t budget) : budget_(budget) {}

  absl::StatusOr<PickleValue> Convert(const Object& object, int depth) {
    // A cycle shows as unbounded depth.
    if (depth > kMaxDepth)
      return Refuse("pickle: nested too deeply (a cycle?)");
    const uint64_t cost = 1 + object.value.text().size();
    if (cost > budget_) {
      return Refuse("pickle: sharing makes it far larger than its file");
    }
    budget_ -= cost;
    switch (object.kind) {
      case Object::Kind::kPlain:
        return object.value;
      case Object::Kind::kList:
        return Items(object, depth, &PickleValue::List);
      case Object::Kind::kTuple:
        return Items(object, depth, &PickleValue::Tuple);
      case Object::Kind::kDict:
        return Dict(object, depth);
      case Object::Kind::kStorage:
        return Refuse("pickle: a storage that no tensor uses");
      case Object::Kind::kGlobal:
        return object.value;
    }
    return PickleValue();
  }

 private:
  absl::StatusOr<PickleValue> Items(
      const Object& object, int depth,
      PickleValue (*make)(std::vector<PickleValue>)) {
    std::vector<PickleValue> items;
    for (const ObjectPtr& item : object.items) {
      absl::StatusOr<PickleValue> value = Convert(*item, depth + 1);
      if (!value.ok()) return value.status();
      items.push_back(*std::move(value));
    }
    return make(std::move(items));
  }

  absl::StatusOr<PickleValue> Dict(const Object& object, int depth) {
    std::vector<PickleValue::Item> entries;
    for (size_t i = 0; i + 1 < object.items.size(); i += 2) {
      absl::StatusOr<PickleValue> key = Convert(*object.items[i], depth + 1);
      if (!key.ok()) return key.status();
      absl::StatusOr<PickleValue> value =
          Convert(*object.items[i + 1], depth + 1);
      if (!value.ok()) return value.status();
      entries.emplace_back(*std::move(key), *std::move(value));
    }
    return PickleValue::Dict(std::move(entries));
  }

  uint64_t budget_;
};

}  // namespace

ObjectPtr Arena::Add(Object object) {
  return &objects_.emplace_back(std::move(object));
}

ObjectPtr Arena::Plain(PickleValue value) {
  Object object;
  object.value = std::move(value);
  return Add(std::move(object));
}

ObjectPtr Arena::Sequence(Object::Kind kind, std::vector<ObjectPtr> items) {
  Object object;
  object.kind = kind;
  object.items = std::move(items);
  return Add(std::move(object));
}

std::optional<ObjectPtr> KnownGlobal(Arena& arena, std::string_view module,
                                     std::string_view name) {
  const std::string full =
      absl::StrCat(std::string(module), ".", std::string(name));
  if (full == "collections.OrderedDict" || full == "torch.Size" ||
      full == "torch._utils._rebuild_tensor_v2" ||
      full == "torch._utils._rebuild_tensor_v3" ||
      full == "torch._utils._rebuild_parameter" ||
      full == "torch.storage.UntypedStorage") {
    return arena.Add(Global(full));
  }
  if (module != "torch") return std::nullopt;
  const DtypeName* dtype = FindStorage(name);
  if (dtype == nullptr) dtype = FindDtype(name);
  if (dtype == nullptr) return std::nullopt;
  return arena.Add(Global(full, dtype));
}

absl::StatusOr<ObjectPtr> Storage(Arena& arena, const Object& id) {
  if (id.kind != Object::Kind::kTuple || id.items.size() != 5 ||
      id.items[1]->kind != Object::Kind::kGlobal || !IsInt(*id.items[4]) ||
      id.items[4]->value.int_value() < 0) {
    return Refuse("a persistent id that is no storage");
  }
  Object storage;
  storage.kind = Object::Kind::kStorage;
  storage.dtype = id.items[1]->dtype;
  storage.storage_key = id.items[2]->value.text();
  storage.elements = id.items[4]->value.int_value();
  return arena.Add(std::move(storage));
}

absl::StatusOr<ObjectPtr> Call(Arena& arena, const Object& function,
                               const Object& arguments) {
  if (function.kind != Object::Kind::kGlobal ||
      arguments.kind != Object::Kind::kTuple) {
    return Refuse("a call of something that is no function");
  }
  const std::string& name = function.value.text();
  const std::vector<ObjectPtr>& items = arguments.items;
  if (name == "collections.OrderedDict") return MakeDict(arena, items);
  if (name == "torch._utils._rebuild_tensor_v2") {
    return RebuildTensor(arena, items, /*names_dtype=*/false);
  }
  if (name == "torch._utils._rebuild_tensor_v3") {
    return RebuildTensor(arena, items, /*names_dtype=*/true);
  }
  // A parameter is its data; torch.Size(x) is the tuple x.
  if ((name == "torch._utils._rebuild_parameter" || name == "torch.Size") &&
      !items.empty()) {
    return items[0];
  }
  return Refuse(absl::StrCat("a call of ", name));
}

absl::StatusOr<PickleValue> ToValue(const Object& root, uint64_t pickle_size) {
  // Legitimate sharing repeats short texts only.
  return Converter(64 * pickle_size + (1 << 20)).Convert(root, 0);
}

}  // namespace slipway::pickle
