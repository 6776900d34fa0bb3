// The ABI tag of the compilation that includes this.
//
//   constexpr SlipwayAbiTag tag = slipway::ThisAbi();
//
// Constants of the compiler only: a plugin's tag is in its read-only data, and
// is read before any of its code runs.
#ifndef SLIPWAY_TRAINER_PLUGIN_THIS_ABI_H_
#define SLIPWAY_TRAINER_PLUGIN_THIS_ABI_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "tests/abi/api_1_1/trainer/data/dataset.h"
#include "tests/abi/api_1_1/trainer/nn/module.h"
#include "tests/abi/api_1_1/trainer/nn/value.h"
#include "tests/abi/api_1_1/trainer/plugin/abi_tag.h"
#include "tests/abi/api_1_1/trainer/plugin/loss.h"
#include "tests/abi/api_1_1/trainer/plugin/optimizer.h"
#include "tests/abi/api_1_1/trainer/plugin/schedule.h"
#include "tests/abi/api_1_1/trainer/recipe/node.h"
#include "tests/abi/api_1_1/trainer/recipe/problem.h"
#include "torch/headeronly/version.h"

// Made by the build. Without it (headers alone) the tag has no hash.
#if __has_include("trainer/plugin/headers_hash.h")
#include "tests/abi/api_1_1/trainer/plugin/headers_hash.h"
#else
#define SLIPWAY_HEADERS_HASH ""
#endif

namespace slipway {

// FNV-1a over the sizes of what plugins and trainer hand each other by value.
constexpr uint64_t SizesOfValues() {
  const size_t sizes[] = {
      sizeof(absl::Status),   sizeof(std::string),    sizeof(at::Tensor),
      sizeof(Mark),           sizeof(Problem),        sizeof(recipe::Node),
      sizeof(Value),          sizeof(data::Sample),   sizeof(data::Batch),
      sizeof(LossOutput),     sizeof(ParameterGroup), sizeof(SchedulePlace),
      sizeof(nn::NamedTensor)};
  uint64_t hash = 0xcbf29ce484222325;
  for (const size_t size : sizes) hash = (hash ^ size) * 0x100000001b3;
  return hash;
}

constexpr void CopyText(std::string_view text, char* out, size_t size) {
  for (size_t i = 0; i + 1 < size && i < text.size(); ++i) out[i] = text[i];
}

constexpr uint32_t ThisAbiSanitizers() {
  uint32_t bits = 0;
#if defined(__has_feature)
#define SLIPWAY_HAS_FEATURE(x) __has_feature(x)
#else
#define SLIPWAY_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || SLIPWAY_HAS_FEATURE(address_sanitizer)
  bits |= kSanitizerAddress;
#endif
#if defined(__SANITIZE_THREAD__) || SLIPWAY_HAS_FEATURE(thread_sanitizer)
  bits |= kSanitizerThread;
#endif
#if SLIPWAY_HAS_FEATURE(memory_sanitizer)
  bits |= kSanitizerMemory;
#endif
#undef SLIPWAY_HAS_FEATURE
  return bits;
}

constexpr uint32_t ThisAbiAbseilOptions() {
  uint32_t bits = 0;
#ifdef ABSL_USES_STD_ANY
  bits |= kAbseilStdAny;
#endif
#ifdef ABSL_USES_STD_OPTIONAL
  bits |= kAbseilStdOptional;
#endif
#ifdef ABSL_USES_STD_STRING_VIEW
  bits |= kAbseilStdStringView;
#endif
#ifdef ABSL_USES_STD_VARIANT
  bits |= kAbseilStdVariant;
#endif
  return bits;
}

constexpr SlipwayAbiTag ThisAbi() {
  SlipwayAbiTag tag = {};
  tag.struct_size = sizeof(tag);
#if defined(__clang__)
  tag.compiler_family = kCompilerClang;
  tag.compiler_major = __clang_major__;
#else
  tag.compiler_family = kCompilerGcc;
  tag.compiler_major = __GNUC__;
#endif
  tag.gxx_abi = __GXX_ABI_VERSION;
  tag.cplusplus = __cplusplus;
#ifdef _GLIBCXX_RELEASE
  tag.glibcxx_release = _GLIBCXX_RELEASE;
  tag.glibcxx_abi = _GLIBCXX_USE_CXX11_ABI ? kGlibcxxCxx11Abi : 0;
#endif
#ifdef _GLIBCXX_DEBUG
  tag.glibcxx_abi |= kGlibcxxDebug;
#endif
  tag.libtorch = TORCH_ABI_VERSION;
#if ABSL_OPTION_USE_INLINE_NAMESPACE == 1
#define SLIPWAY_TEXT_OF(name) #name
#define SLIPWAY_TEXT(macro) SLIPWAY_TEXT_OF(macro)
  CopyText(SLIPWAY_TEXT(ABSL_OPTION_INLINE_NAMESPACE_NAME),
           tag.abseil_namespace, sizeof(tag.abseil_namespace));
#undef SLIPWAY_TEXT
#undef SLIPWAY_TEXT_OF
#endif
  tag.abseil_options = ThisAbiAbseilOptions();
  tag.sanitizers = ThisAbiSanitizers();
  tag.value_sizes = SizesOfValues();
  CopyText(SLIPWAY_HEADERS_HASH, tag.headers, sizeof(tag.headers));
  return tag;
}

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_THIS_ABI_H_
