#include "trainer/checkpoint/pickle_objects.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/checkpoint/pickle_numpy.h"
#include "trainer/checkpoint/quoted.h"
#include "trainer/checkpoint/utf8.h"

namespace slipway::pickle {
namespace {

constexpr int kMaxDepth = 64;
constexpr size_t kMaxDims = 64;
constexpr size_t kMaxKey = 64;  // of a storage; PyTorch's are short numbers
// Values of a finished tree; each takes 48 bytes.
constexpr uint64_t kMaxNodes = 8 << 20;

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
  if (object.kind != Object::Kind::kTuple || object.items.size() > kMaxDims) {
    return std::nullopt;
  }
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
  bool empty = false;
  int64_t count = 1;
  for (int64_t size : tensor.sizes) {
    empty = empty || size == 0;
    if (size == 0) continue;
    if (__builtin_mul_overflow(count, size, &count)) return false;
  }
  return empty || count <= tensor.storage_elements;
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
  int64_t bytes = 0;
  if (__builtin_mul_overflow(storage.elements,
                             storage.dtype != nullptr ? storage.dtype->size : 1,
                             &bytes)) {
    return Refuse("a storage of more than 2^63 bytes");
  }
  PickledTensor tensor = {
      .dtype = std::string(dtype->dtype),
      .storage_key = storage.value.text(),
      .storage_elements = bytes / dtype->size,
      .offset = items[1]->value.int_value(),
      .sizes = *sizes,
      .strides = *strides,
  };
  if (tensor.offset < 0 || !Inside(tensor)) {
    return Refuse(absl::StrCat("a tensor that reaches outside its storage \"",
                               tensor.storage_key, "\""));
  }
  if (!ReasonableSize(tensor)) {
    return Refuse(absl::StrCat("a tensor larger than its storage \"",
                               tensor.storage_key, "\""));
  }
  return arena.Plain(PickleValue::Tensor(std::move(tensor)));
}

// OrderedDict() or OrderedDict([(key, value), ...]).
absl::StatusOr<ObjectPtr> MakeDict(Arena& arena,
                                   const std::vector<ObjectPtr>& arguments) {
  ObjectPtr dict = arena.Sequence(Object::Kind::kDict, {});
  if (arguments.empty()) return dict;
  if (!arena.MayCopy(2 * arguments[0]->items.size())) {
    return Refuse("a dict made again and again");
  }
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
  explicit Converter(uint64_t pickle_size)
      // Legitimate sharing repeats a few short values only.
      : nodes_left_(std::min(64 * pickle_size + (64 << 10), kMaxNodes)),
        text_left_(8 * pickle_size + (64 << 10)) {}

  absl::StatusOr<PickleValue> Convert(const Object& object, int depth) {
    // A cycle shows as unbounded depth.
    if (depth > kMaxDepth) {
      return Refuse("pickle: nested too deeply (a cycle?)");
    }
    const uint64_t text = object.value.text().size();
    if (nodes_left_ == 0 || text > text_left_) {
      return Refuse("pickle: sharing makes it far larger than its file");
    }
    --nodes_left_;
    text_left_ -= text;
    switch (object.kind) {
      case Object::Kind::kPlain:
      case Object::Kind::kGlobal:
        return object.value;
      case Object::Kind::kList:
        return Items(object, depth, &PickleValue::List);
      case Object::Kind::kTuple:
        return Items(object, depth, &PickleValue::Tuple);
      case Object::Kind::kDict:
        return Dict(object, depth);
      case Object::Kind::kStorage:
        return Refuse("pickle: a storage that no tensor uses");
      case Object::Kind::kNumpyType:
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
    std::set<std::string_view> names;  // of the objects, which stay
    for (size_t i = 0; i + 1 < object.items.size(); i += 2) {
      const PickleValue& name = object.items[i]->value;
      if (name.kind() == PickleValue::Kind::kString &&
          !names.insert(name.text()).second) {
        return Refuse(absl::StrCat("pickle: a dict has the key ",
                                   Quoted(name.text()), " twice"));
      }
      absl::StatusOr<PickleValue> key = Convert(*object.items[i], depth + 1);
      if (!key.ok()) return key.status();
      absl::StatusOr<PickleValue> value =
          Convert(*object.items[i + 1], depth + 1);
      if (!value.ok()) return value.status();
      entries.emplace_back(*std::move(key), *std::move(value));
    }
    return PickleValue::Dict(std::move(entries));
  }

  uint64_t nodes_left_;
  uint64_t text_left_;
};

// _codecs.encode(text, "latin1"): how protocol 2, which has no bytes, writes
// them.
absl::StatusOr<ObjectPtr> Encode(Arena& arena,
                                 const std::vector<ObjectPtr>& arguments) {
  if (arguments.size() != 2 ||
      arguments[0]->value.kind() != PickleValue::Kind::kString ||
      arguments[1]->value.text() != "latin1") {
    return Refuse("a call of _codecs.encode that gives no bytes");
  }
  const std::string& text = arguments[0]->value.text();
  if (!arena.MayCopy(text.size())) return Refuse("bytes made again and again");
  std::optional<std::string> bytes = Latin1FromUtf8(text);
  if (!bytes) return Refuse("a call of _codecs.encode on other letters");
  return arena.Plain(PickleValue::Bytes(*std::move(bytes)));
}

// numpy.dtype(code, align, copy).
absl::StatusOr<ObjectPtr> NumpyType(Arena& arena,
                                    const std::vector<ObjectPtr>& arguments) {
  if (arguments.empty() ||
      arguments[0]->value.kind() != PickleValue::Kind::kString ||
      arguments[0]->value.text().size() > 8) {
    return Refuse("a numpy dtype that is no number's");
  }
  Object type;
  type.kind = Object::Kind::kNumpyType;
  type.value = arguments[0]->value;
  return arena.Add(std::move(type));
}

// numpy's scalar(dtype, bytes).
absl::StatusOr<ObjectPtr> NumpyScalar(Arena& arena,
                                      const std::vector<ObjectPtr>& arguments) {
  if (arguments.size() != 2 || arguments[0]->kind != Object::Kind::kNumpyType ||
      arguments[1]->value.kind() != PickleValue::Kind::kBytes) {
    return Refuse("a numpy scalar with arguments of a wrong kind");
  }
  const std::string& code = arguments[0]->value.text();
  std::optional<PickleValue> number =
      NumpyNumber(code, arguments[1]->value.text());
  if (!number) {
    return Refuse(absl::StrCat("a numpy scalar of dtype ", Quoted(code)));
  }
  return arena.Plain(*std::move(number));
}

// A parameter is its data, torch.Size(x) the tuple x, torch.device(x) its name.
absl::StatusOr<ObjectPtr> First(Arena&,
                                const std::vector<ObjectPtr>& arguments) {
  if (arguments.empty()) return Refuse("a call without arguments");
  return arguments[0];
}

absl::StatusOr<ObjectPtr> RebuildTensorV2(
    Arena& arena, const std::vector<ObjectPtr>& arguments) {
  return RebuildTensor(arena, arguments, /*names_dtype=*/false);
}

absl::StatusOr<ObjectPtr> RebuildTensorV3(
    Arena& arena, const std::vector<ObjectPtr>& arguments) {
  return RebuildTensor(arena, arguments, /*names_dtype=*/true);
}

absl::StatusOr<ObjectPtr> NoFunction(Arena&, const std::vector<ObjectPtr>&) {
  return Refuse("a call of a class that is only named");
}

struct Function {
  std::string_view name;
  absl::StatusOr<ObjectPtr> (*call)(Arena&, const std::vector<ObjectPtr>&);
};

constexpr Function kFunctions[] = {
    {"_codecs.encode", Encode},
    {"collections.OrderedDict", MakeDict},
    {"numpy._core.multiarray.scalar", NumpyScalar},
    {"numpy.core.multiarray.scalar", NumpyScalar},
    {"numpy.dtype", NumpyType},
    {"torch.Size", First},
    {"torch._utils._rebuild_parameter", First},
    {"torch._utils._rebuild_tensor_v2", RebuildTensorV2},
    {"torch._utils._rebuild_tensor_v3", RebuildTensorV3},
    {"torch.device", First},
    {"torch.storage.UntypedStorage", NoFunction},
};

const Function* FindFunction(std::string_view name) {
  for (const Function& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

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

bool Arena::MayCopy(uint64_t count) {
  if (count > copies_left_) return false;
  copies_left_ -= count;
  return true;
}

std::optional<ObjectPtr> KnownGlobal(Arena& arena, std::string_view module,
                                     std::string_view name) {
  const std::string full =
      absl::StrCat(std::string(module), ".", std::string(name));
  if (FindFunction(full) != nullptr) return arena.Add(Global(full));
  if (module != "torch") return std::nullopt;
  const DtypeName* dtype = FindStorage(name);
  if (dtype == nullptr) dtype = FindDtype(name);
  if (dtype == nullptr) return std::nullopt;
  return arena.Add(Global(full, dtype));
}

absl::StatusOr<ObjectPtr> Storage(Arena& arena, const Object& id) {
  if (id.kind != Object::Kind::kTuple || id.items.size() != 5 ||
      id.items[1]->kind != Object::Kind::kGlobal ||
      id.items[2]->value.text().size() > kMaxKey || !IsInt(*id.items[4]) ||
      id.items[4]->value.int_value() < 0) {
    return Refuse("a persistent id that is no storage");
  }
  Object storage;
  storage.kind = Object::Kind::kStorage;
  storage.dtype = id.items[1]->dtype;
  storage.value = PickleValue::String(id.items[2]->value.text());
  storage.elements = id.items[4]->value.int_value();
  return arena.Add(std::move(storage));
}

absl::StatusOr<ObjectPtr> Call(Arena& arena, const Object& function,
                               const Object& arguments) {
  if (function.kind != Object::Kind::kGlobal ||
      arguments.kind != Object::Kind::kTuple) {
    return Refuse("a call of something that is no function");
  }
  const Function* known = FindFunction(function.value.text());
  if (known == nullptr) {
    return Refuse(absl::StrCat("a call of ", function.value.text()));
  }
  return known->call(arena, arguments.items);
}

absl::StatusOr<ObjectPtr> Build(ObjectPtr object, const Object& state) {
  if (object->kind == Object::Kind::kDict) return object;
  if (object->kind != Object::Kind::kNumpyType) {
    return Refuse("attributes for something that has none");
  }
  // (version, byte order, ...); "|" is for single bytes.
  const std::string_view order =
      state.items.size() > 1 ? std::string_view(state.items[1]->value.text())
                             : "";
  if (order != "<" && order != "|" && order != "=") {
    return Refuse(absl::StrCat("a numpy dtype of byte order ", Quoted(order)));
  }
  return object;
}

absl::StatusOr<PickleValue> ToValue(const Object& root, uint64_t pickle_size) {
  return Converter(pickle_size).Convert(root, 0);
}

}  // namespace slipway::pickle
