// What an unpickler holds on its stack: values that may still grow and may be
// shared, and the few Python names it knows. Internal to unpickler.cc.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_PICKLE_OBJECTS_H_
#define SLIPWAY_TRAINER_CHECKPOINT_PICKLE_OBJECTS_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/checkpoint/pickle.h"
#include "trainer/checkpoint/pickle_names.h"

namespace slipway::pickle {

struct Object;
// Borrowed from an Arena: hostile pickles make cycles, which owners could not
// free.
using ObjectPtr = Object*;

struct Object {
  enum class Kind {
    kPlain,
    kList,
    kTuple,
    kDict,
    kStorage,
    kGlobal,
    kNumpyType
  };
  Kind kind = Kind::kPlain;
  // kPlain: the value. As a text: a global's name, a storage's key, the numpy
  // dtype's code ("f8").
  PickleValue value;
  // Of lists and tuples; of dicts: key, value, key, value, ...
  std::vector<ObjectPtr> items;
  // kStorage, and kGlobal of a storage class or a dtype. Null for an untyped
  // storage, of which `elements` are bytes.
  const DtypeName* dtype = nullptr;
  int64_t elements = 0;
};

// Owns the objects of one pickle; their addresses stay.
class Arena {
 public:
  explicit Arena(uint64_t pickle_size) : copies_left_(4 * pickle_size + 4096) {}

  ObjectPtr Plain(PickleValue value);
  ObjectPtr Sequence(Object::Kind kind, std::vector<ObjectPtr> items);
  ObjectPtr Add(Object object);
  size_t size() const { return objects_.size(); }

  // Before `count` bytes or items of an object are copied into another. False
  // if that is more than the pickle itself can have brought: a few bytes can
  // ask for the same copy again and again.
  bool MayCopy(uint64_t count);

 private:
  std::deque<Object> objects_;
  uint64_t copies_left_;
};

// A name of the closed set; nullopt for any other.
std::optional<ObjectPtr> KnownGlobal(Arena& arena, std::string_view module,
                                     std::string_view name);

// The storage that a persistent id ("storage", class, key, device, elements)
// means.
absl::StatusOr<ObjectPtr> Storage(Arena& arena, const Object& id);

// What `function(*arguments)` gives, for the functions of the closed set.
absl::StatusOr<ObjectPtr> Call(Arena& arena, const Object& function,
                               const Object& arguments);

// What BUILD, which sets attributes, makes of `object`: those of an OrderedDict
// (a state dict's _metadata) are left out, those of a numpy dtype are checked.
absl::StatusOr<ObjectPtr> Build(ObjectPtr object, const Object& state);

// The finished value. Refuses cycles, more than 64 levels, and values that
// sharing makes much larger than the pickle of `pickle_size` bytes, and dicts
// with a key twice.
absl::StatusOr<PickleValue> ToValue(const Object& root, uint64_t pickle_size);

}  // namespace slipway::pickle

#endif  // SLIPWAY_TRAINER_CHECKPOINT_PICKLE_OBJECTS_H_
