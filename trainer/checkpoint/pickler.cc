// The writing half of pickle.h: protocol 2, without a memo.
#include <bit>
#include <string>

#include "glog/logging.h"
#include "trainer/checkpoint/pickle.h"
#include "trainer/checkpoint/pickle_names.h"

namespace slipway {
namespace {

class Pickler {
 public:
  std::string Run(const PickleValue& value) && {
    out_ = "\x80\x02";
    Put(value);
    out_ += '.';
    return std::move(out_);
  }

 private:
  void PutLittleEndian(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      out_ += static_cast<char>(value >> (8 * i));
    }
  }

  void PutInt(int64_t value) {
    if (value >= INT32_MIN && value <= INT32_MAX) {
      out_ += 'J';
      PutLittleEndian(static_cast<uint64_t>(value), 4);
      return;
    }
    out_ += "\x8a\x08";  // LONG1, eight bytes, two's complement
    PutLittleEndian(static_cast<uint64_t>(value), 8);
  }

  void PutFloat(double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    out_ += 'G';
    for (int i = 7; i >= 0; --i) out_ += static_cast<char>(bits >> (8 * i));
  }

  void PutString(std::string_view text) {
    out_ += 'X';
    PutLittleEndian(text.size(), 4);
    out_ += text;
  }

  void PutGlobal(std::string_view module, std::string_view name) {
    out_ += 'c';
    out_ += module;
    out_ += '\n';
    out_ += name;
    out_ += '\n';
  }

  void PutInts(const std::vector<int64_t>& values) {
    out_ += '(';
    for (int64_t value : values) PutInt(value);
    out_ += 't';
  }

  // torch._utils._rebuild_tensor_v2(storage, offset, sizes, strides,
  // requires_grad, hooks); dtypes without a storage class of their own take
  // _rebuild_tensor_v3, which names the dtype too.
  void PutTensor(const PickledTensor& tensor) {
    const DtypeName& dtype = *FindDtype(tensor.dtype);
    const bool legacy = !dtype.storage.empty();
    PutGlobal("torch._utils",
              legacy ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    out_ += "((";
    PutString("storage");
    if (legacy) {
      PutGlobal("torch", dtype.storage);
    } else {
      PutGlobal("torch.storage", "UntypedStorage");
    }
    PutString(tensor.storage_key);
    PutString("cpu");
    PutInt(legacy ? tensor.storage_elements
                  : tensor.storage_elements * dtype.size);
    out_ += "tQ";
    PutInt(tensor.offset);
    PutInts(tensor.sizes);
    PutInts(tensor.strides);
    out_ += '\x89';  // requires_grad=False
    PutGlobal("collections", "OrderedDict");
    out_ += ")R";
    if (!legacy) PutGlobal("torch", dtype.dtype);
    out_ += "tR";
  }

  void PutItems(const PickleValue& value, char close) {
    out_ += '(';
    for (const PickleValue& item : value.items()) Put(item);
    out_ += close;
  }

  void PutDict(const PickleValue& value) {
    out_ += "}(";
    for (const auto& [key, item] : value.entries()) {
      Put(key);
      Put(item);
    }
    out_ += 'u';
  }

  void Put(const PickleValue& value) {
    using Kind = PickleValue::Kind;
    switch (value.kind()) {
      case Kind::kNone:
        out_ += 'N';
        return;
      case Kind::kBool:
        out_ += value.bool_value() ? '\x88' : '\x89';
        return;
      case Kind::kInt:
        return PutInt(value.int_value());
      case Kind::kFloat:
        return PutFloat(value.number());
      case Kind::kString:
        return PutString(value.text());
      case Kind::kBytes:
        LOG(FATAL) << "a checkpoint's pickle cannot hold bytes";
      case Kind::kList:
        out_ += ']';
        return PutItems(value, 'e');
      case Kind::kTuple:
        return PutItems(value, 't');
      case Kind::kDict:
        return PutDict(value);
      case Kind::kTensor:
        return PutTensor(*value.tensor());
    }
  }

  std::string out_;
};

}  // namespace

std::string Pickle(const PickleValue& value) { return Pickler().Run(value); }

}  // namespace slipway
