#include "trainer/checkpoint/pickle_names.h"

#include "trainer/checkpoint/pickle.h"

namespace slipway {

const std::vector<DtypeName>& DtypeNames() {
  static const auto* names = new std::vector<DtypeName>{
      {"float32", "FloatStorage", 4},
      {"float64", "DoubleStorage", 8},
      {"float16", "HalfStorage", 2},
      {"bfloat16", "BFloat16Storage", 2},
      {"int64", "LongStorage", 8},
      {"int32", "IntStorage", 4},
      {"int16", "ShortStorage", 2},
      {"int8", "CharStorage", 1},
      {"uint8", "ByteStorage", 1},
      {"bool", "BoolStorage", 1},
      {"complex64", "ComplexFloatStorage", 8},
      {"complex128", "ComplexDoubleStorage", 16},
      {"uint16", "", 2},
      {"uint32", "", 4},
      {"uint64", "", 8},
      {"float8_e4m3fn", "", 1},
      {"float8_e5m2", "", 1},
      {"float8_e4m3fnuz", "", 1},
      {"float8_e5m2fnuz", "", 1},
  };
  return *names;
}

const DtypeName* FindDtype(std::string_view dtype) {
  for (const DtypeName& name : DtypeNames()) {
    if (name.dtype == dtype) return &name;
  }
  return nullptr;
}

const DtypeName* FindStorage(std::string_view storage) {
  if (storage.empty()) return nullptr;
  for (const DtypeName& name : DtypeNames()) {
    if (name.storage == storage) return &name;
  }
  return nullptr;
}

int64_t DtypeSize(std::string_view dtype) {
  const DtypeName* name = FindDtype(dtype);
  return name == nullptr ? 0 : name->size;
}

}  // namespace slipway
