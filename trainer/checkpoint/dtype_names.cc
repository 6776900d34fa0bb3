#include "trainer/checkpoint/dtype_names.h"

namespace slipway {
namespace {

struct DtypeEntry {
  at::ScalarType type;
  const char* name;
};

constexpr DtypeEntry kDtypes[] = {
    {at::kFloat, "float32"},
    {at::kDouble, "float64"},
    {at::kHalf, "float16"},
    {at::kBFloat16, "bfloat16"},
    {at::kLong, "int64"},
    {at::kInt, "int32"},
    {at::kShort, "int16"},
    {at::kChar, "int8"},
    {at::kByte, "uint8"},
    {at::kBool, "bool"},
    {at::kComplexFloat, "complex64"},
    {at::kComplexDouble, "complex128"},
    {at::ScalarType::UInt16, "uint16"},
    {at::ScalarType::UInt32, "uint32"},
    {at::ScalarType::UInt64, "uint64"},
    {at::ScalarType::Float8_e4m3fn, "float8_e4m3fn"},
    {at::ScalarType::Float8_e5m2, "float8_e5m2"},
    {at::ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz"},
    {at::ScalarType::Float8_e5m2fnuz, "float8_e5m2fnuz"},
};

}  // namespace

std::string DtypeNameOf(at::ScalarType type) {
  for (const DtypeEntry& entry : kDtypes) {
    if (entry.type == type) return entry.name;
  }
  return at::toString(type);
}

std::optional<at::ScalarType> ScalarTypeOf(std::string_view name) {
  for (const DtypeEntry& entry : kDtypes) {
    if (name == entry.name) return entry.type;
  }
  return std::nullopt;
}

}  // namespace slipway
