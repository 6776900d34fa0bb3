// What a library was compiled with, as a plain struct: the first thing that the
// trainer reads of a plugin, before any C++ crosses between the two.
//
// Every field is a constant of the compilation (this_abi.h fills them in), of a
// size that no compiler flag changes. abi.h compares two tags field by field.
// New fields are only ever appended; a reader looks at those that struct_size
// covers.
#ifndef SLIPWAY_TRAINER_PLUGIN_ABI_TAG_H_
#define SLIPWAY_TRAINER_PLUGIN_ABI_TAG_H_

#include <cstdint>

extern "C" {

struct SlipwayAbiTag {
  uint32_t struct_size;
  // kCompiler*; and __GNUC__ or __clang_major__.
  uint32_t compiler_family;
  uint32_t compiler_major;
  // __GXX_ABI_VERSION: mangling and layout rules.
  uint32_t gxx_abi;
  // __cplusplus, such as 202002.
  int64_t cplusplus;
  // _GLIBCXX_RELEASE; 0 for another standard library.
  uint32_t glibcxx_release;
  // kGlibcxx*.
  uint32_t glibcxx_abi;
  // TORCH_ABI_VERSION: major, minor and patch in the three top bytes.
  uint64_t libtorch;
  // The inline namespace of Abseil's symbols, "" if it has none.
  char abseil_namespace[32];
  // Which of Abseil's types are the standard library's: kAbseil*.
  uint32_t abseil_options;
  // kSanitizer*.
  uint32_t sanitizers;
  // A fold of the sizes of the structs that are passed by value.
  uint64_t value_sizes;
  // SHA-256 of the public headers, in hex and shortened; "" where the build
  // does not compute it. For information: it decides nothing.
  char headers[20];
};

}  // extern "C"

namespace slipway {

inline constexpr uint32_t kCompilerGcc = 1;
inline constexpr uint32_t kCompilerClang = 2;

inline constexpr uint32_t kGlibcxxCxx11Abi = 1;
inline constexpr uint32_t kGlibcxxDebug = 2;

inline constexpr uint32_t kAbseilStdAny = 1;
inline constexpr uint32_t kAbseilStdOptional = 2;
inline constexpr uint32_t kAbseilStdStringView = 4;
inline constexpr uint32_t kAbseilStdVariant = 8;

inline constexpr uint32_t kSanitizerAddress = 1;
inline constexpr uint32_t kSanitizerThread = 2;
inline constexpr uint32_t kSanitizerMemory = 4;

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_ABI_TAG_H_
