// The reading half of pickle.h: a stack machine over a closed set of opcodes.
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/checkpoint/pickle.h"
#include "trainer/checkpoint/pickle_objects.h"
#include "trainer/checkpoint/quoted.h"
#include "trainer/checkpoint/utf8.h"

namespace slipway {
namespace {

// Far more than any network's tensors take: limits for memory, not for users.
constexpr uint64_t kMaxSize = 64 << 20;
constexpr size_t kMaxValues = 4 << 20;

using pickle::Object;
using pickle::ObjectPtr;

class Unpickler {
 public:
  explicit Unpickler(std::string_view bytes)
      : bytes_(bytes), arena_(bytes.size()) {}

  absl::StatusOr<PickleValue> Run() {
    while (true) {
      opcode_offset_ = offset_;
      absl::StatusOr<std::string_view> opcode = Take(1);
      if (!opcode.ok()) return opcode.status();
      if ((*opcode)[0] == '.') return Finish();
      if (arena_.size() >= kMaxValues || memo_.size() >= kMaxValues) {
        return Refuse(absl::StrCat("more than ", kMaxValues, " values"));
      }
      absl::Status status = Step((*opcode)[0]);
      if (!status.ok()) return status;
    }
  }

 private:
  absl::StatusOr<PickleValue> Finish() {
    absl::StatusOr<ObjectPtr> root = Pop();
    if (!root.ok()) return root.status();
    return pickle::ToValue(**root, bytes_.size());
  }

  absl::Status Refuse(std::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "pickle: ", std::string(what), " at offset ", opcode_offset_));
  }

  absl::StatusOr<std::string_view> Take(uint64_t count) {
    if (count > bytes_.size() - offset_) {
      return absl::DataLossError(
          absl::StrCat("pickle: truncated at offset ", bytes_.size()));
    }
    std::string_view taken = bytes_.substr(offset_, count);
    offset_ += count;
    return taken;
  }

  // A little-endian number of `width` bytes.
  absl::StatusOr<uint64_t> TakeNumber(int width) {
    absl::StatusOr<std::string_view> bytes = Take(static_cast<uint64_t>(width));
    if (!bytes.ok()) return bytes.status();
    uint64_t value = 0;
    for (int i = width - 1; i >= 0; --i) {
      value = value << 8 | static_cast<unsigned char>((*bytes)[i]);
    }
    return value;
  }

  // A text of which the length comes first, in `width` bytes.
  absl::StatusOr<std::string_view> TakeSized(int width) {
    absl::StatusOr<uint64_t> length = TakeNumber(width);
    if (!length.ok()) return length.status();
    return Take(*length);
  }

  absl::StatusOr<std::string_view> TakeLine() {
    const size_t end = bytes_.find('\n', offset_);
    if (end == bytes_.npos) return Take(bytes_.size());  // truncated
    std::string_view line = bytes_.substr(offset_, end - offset_);
    offset_ = end + 1;
    return line;
  }

  absl::Status Push(ObjectPtr object) {
    stack_.push_back(std::move(object));
    return absl::OkStatus();
  }
  absl::Status Push(PickleValue value) {
    return Push(arena_.Plain(std::move(value)));
  }

  absl::StatusOr<ObjectPtr> Pop() {
    const size_t bottom = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= bottom) return Refuse("nothing on the stack");
    ObjectPtr top = stack_.back();
    stack_.pop_back();
    return top;
  }

  // Everything above the last mark.
  absl::StatusOr<std::vector<ObjectPtr>> PopToMark() {
    if (marks_.empty()) return Refuse("no mark on the stack");
    std::vector<ObjectPtr> taken(stack_.begin() + marks_.back(), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return taken;
  }

  absl::StatusOr<std::vector<ObjectPtr>> PopSome(int count) {
    std::vector<ObjectPtr> taken(count);
    for (int i = count - 1; i >= 0; --i) {
      absl::StatusOr<ObjectPtr> object = Pop();
      if (!object.ok()) return object.status();
      taken[i] = *std::move(object);
    }
    return taken;
  }

  absl::Status PushTuple(absl::StatusOr<std::vector<ObjectPtr>> items) {
    if (!items.ok()) return items.status();
    return Push(arena_.Sequence(Object::Kind::kTuple, *std::move(items)));
  }

  absl::Status PushText(absl::StatusOr<std::string_view> text) {
    if (!text.ok()) return text.status();
    if (!IsUtf8(*text)) return Refuse("a text that is not UTF-8");
    return Push(PickleValue::String(std::string(*text)));
  }
  absl::Status PushBytes(absl::StatusOr<std::string_view> bytes) {
    if (!bytes.ok()) return bytes.status();
    return Push(PickleValue::Bytes(std::string(*bytes)));
  }

  absl::Status PushUnsigned(int width) {
    absl::StatusOr<uint64_t> value = TakeNumber(width);
    if (!value.ok()) return value.status();
    return Push(PickleValue::Int(static_cast<int64_t>(*value)));
  }

  absl::Status PushInt32() {
    absl::StatusOr<uint64_t> value = TakeNumber(4);
    if (!value.ok()) return value.status();
    return Push(PickleValue::Int(static_cast<int32_t>(*value)));
  }

  // LONG1: two's complement of up to eight bytes.
  absl::Status PushLong() {
    absl::StatusOr<std::string_view> bytes = TakeSized(1);
    if (!bytes.ok()) return bytes.status();
    if (bytes->size() > 8) return Refuse("an integer of more than 64 bits");
    uint64_t value = 0;
    for (size_t i = bytes->size(); i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>((*bytes)[i]);
    }
    const int unused = static_cast<int>(64 - 8 * bytes->size());
    if (unused == 64) return Push(PickleValue::Int(0));
    return Push(
        PickleValue::Int(static_cast<int64_t>(value << unused) >> unused));
  }

  absl::Status PushDouble() {
    absl::StatusOr<std::string_view> bytes = Take(8);
    if (!bytes.ok()) return bytes.status();
    uint64_t bits = 0;
    for (char byte : *bytes) {
      bits = bits << 8 | static_cast<unsigned char>(byte);
    }
    return Push(PickleValue::Float(std::bit_cast<double>(bits)));
  }

  absl::Status PushGlobal(std::string_view module, std::string_view name) {
    std::optional<ObjectPtr> object = pickle::KnownGlobal(arena_, module, name);
    if (object) return Push(*std::move(object));
    return Refuse(absl::StrCat(
        "the name ",
        Quoted(absl::StrCat(std::string(module), ".", std::string(name))),
        " is not one that a checkpoint may hold,"));
  }

  absl::Status Global() {
    absl::StatusOr<std::string_view> module = TakeLine();
    if (!module.ok()) return module.status();
    absl::StatusOr<std::string_view> name = TakeLine();
    if (!name.ok()) return name.status();
    return PushGlobal(*module, *name);
  }

  absl::Status StackGlobal() {
    absl::StatusOr<std::vector<ObjectPtr>> names = PopSome(2);
    if (!names.ok()) return names.status();
    return PushGlobal((*names)[0]->value.text(), (*names)[1]->value.text());
  }

  absl::Status Memoize(absl::StatusOr<uint64_t> slot) {
    if (!slot.ok()) return slot.status();
    if (stack_.empty()) return Refuse("nothing to remember");
    memo_[*slot] = stack_.back();
    return absl::OkStatus();
  }

  absl::Status Recall(absl::StatusOr<uint64_t> slot) {
    if (!slot.ok()) return slot.status();
    const auto it = memo_.find(*slot);
    if (it == memo_.end()) return Refuse("a value that was never stored");
    return Push(it->second);
  }

  absl::Status AppendTo(absl::StatusOr<std::vector<ObjectPtr>> items) {
    if (!items.ok()) return items.status();
    if (stack_.empty() || stack_.back()->kind != Object::Kind::kList) {
      return Refuse("items for something that is no list");
    }
    std::vector<ObjectPtr>& list = stack_.back()->items;
    list.insert(list.end(), items->begin(), items->end());
    return absl::OkStatus();
  }

  absl::Status SetItems(absl::StatusOr<std::vector<ObjectPtr>> items) {
    if (!items.ok()) return items.status();
    if (stack_.empty() || stack_.back()->kind != Object::Kind::kDict ||
        items->size() % 2 != 0) {
      return Refuse("entries for something that is no dict");
    }
    std::vector<ObjectPtr>& dict = stack_.back()->items;
    dict.insert(dict.end(), items->begin(), items->end());
    return absl::OkStatus();
  }

  absl::Status Reduce() {
    absl::StatusOr<std::vector<ObjectPtr>> call = PopSome(2);
    if (!call.ok()) return call.status();
    absl::StatusOr<ObjectPtr> result =
        pickle::Call(arena_, *(*call)[0], *(*call)[1]);
    if (!result.ok()) return Refuse(std::string(result.status().message()));
    return Push(*std::move(result));
  }

  absl::Status Build() {
    absl::StatusOr<std::vector<ObjectPtr>> parts = PopSome(2);
    if (!parts.ok()) return parts.status();
    absl::StatusOr<ObjectPtr> built = pickle::Build((*parts)[0], *(*parts)[1]);
    if (!built.ok()) return Refuse(std::string(built.status().message()));
    return Push(*built);
  }

  absl::Status PersistentId() {
    absl::StatusOr<ObjectPtr> id = Pop();
    if (!id.ok()) return id.status();
    absl::StatusOr<ObjectPtr> storage = pickle::Storage(arena_, **id);
    if (!storage.ok()) return Refuse(std::string(storage.status().message()));
    return Push(*std::move(storage));
  }

  absl::Status Mark() {
    marks_.push_back(stack_.size());
    return absl::OkStatus();
  }

  absl::Status Step(char opcode);
  absl::Status StepContainer(char opcode);

  std::string_view bytes_;
  pickle::Arena arena_;
  uint64_t offset_ = 0;
  uint64_t opcode_offset_ = 0;
  std::vector<ObjectPtr> stack_;
  std::vector<size_t> marks_;
  std::map<uint64_t, ObjectPtr> memo_;
};

// Scalars, texts, names and the memo.
absl::Status Unpickler::Step(char opcode) {
  switch (opcode) {
    case '\x80':  // PROTO
      return Take(1).status();
    case '\x95':  // FRAME
      return Take(8).status();
    case 'N':
      return Push(PickleValue());
    case '\x88':
      return Push(PickleValue::Bool(true));
    case '\x89':
      return Push(PickleValue::Bool(false));
    case 'J':
      return PushInt32();
    case 'K':
      return PushUnsigned(1);
    case 'M':
      return PushUnsigned(2);
    case '\x8a':
      return PushLong();
    case 'G':
      return PushDouble();
    case 'X':
      return PushText(TakeSized(4));
    case '\x8c':
      return PushText(TakeSized(1));
    case '\x8d':
      return PushText(TakeSized(8));
    case 'U':
      return PushText(TakeSized(1));
    case 'T':
      return PushText(TakeSized(4));
    case 'B':
      return PushBytes(TakeSized(4));
    case 'C':
      return PushBytes(TakeSized(1));
    case 'q':
      return Memoize(TakeNumber(1));
    case 'r':
      return Memoize(TakeNumber(4));
    case '\x94':
      return Memoize(memo_.size());
    case 'h':
      return Recall(TakeNumber(1));
    case 'j':
      return Recall(TakeNumber(4));
    case 'c':
      return Global();
    case '\x93':
      return StackGlobal();
    default:
      return StepContainer(opcode);
  }
}

absl::Status Unpickler::StepContainer(char opcode) {
  switch (opcode) {
    case '(':
      return Mark();
    case '0':
      return Pop().status();
    case '}':
      return Push(arena_.Sequence(Object::Kind::kDict, {}));
    case ']':
      return Push(arena_.Sequence(Object::Kind::kList, {}));
    case ')':
      return Push(arena_.Sequence(Object::Kind::kTuple, {}));
    case 't':
      return PushTuple(PopToMark());
    case '\x85':
      return PushTuple(PopSome(1));
    case '\x86':
      return PushTuple(PopSome(2));
    case '\x87':
      return PushTuple(PopSome(3));
    case 'a':
      return AppendTo(PopSome(1));
    case 'e':
      return AppendTo(PopToMark());
    case 's':
      return SetItems(PopSome(2));
    case 'u':
      return SetItems(PopToMark());
    case 'R':
      return Reduce();
    case 'b':
      return Build();
    case 'Q':
      return PersistentId();
    default:
      return Refuse(absl::StrFormat(
          "opcode 0x%02x is not one that a checkpoint may hold,",
          static_cast<unsigned char>(opcode)));
  }
}

}  // namespace

absl::StatusOr<PickleValue> Unpickle(std::string_view bytes) {
  if (bytes.size() > kMaxSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("pickle: ", bytes.size(),
                     " bytes; checkpoints keep their "
                     "tensors elsewhere, and at most ",
                     kMaxSize, " here"));
  }
  return Unpickler(bytes).Run();
}

}  // namespace slipway
