#include "trainer/plugin/abi.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/plugin/this_abi.h"

// LibTorch's own version at run time, from its C interface: its header costs
// seconds.
extern "C" uint64_t aoti_torch_abi_version();

namespace slipway {
namespace {

using Verdict = AbiField::Verdict;

struct Bit {
  uint32_t mask;
  const char* name;
};

std::string BitNames(uint32_t bits, const std::vector<Bit>& known) {
  std::vector<std::string> names;
  for (const Bit& bit : known) {
    if (bits & bit.mask) names.push_back(bit.name);
    bits &= ~bit.mask;
  }
  if (bits != 0) names.push_back(absl::StrCat("bits 0x", absl::Hex(bits)));
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

std::string LibtorchText(uint64_t abi) {
  const uint64_t tag = abi & 0xffffffffff;
  return absl::StrCat(abi >> 56, ".", (abi >> 48) & 0xff, ".",
                      (abi >> 40) & 0xff,
                      tag == 0 ? "" : absl::StrCat(" (tag ", tag, ")"));
}

std::string CompilerText(const SlipwayAbiTag& tag) {
  const char* family = tag.compiler_family == kCompilerGcc     ? "GCC"
                       : tag.compiler_family == kCompilerClang ? "Clang"
                                                               : "unknown";
  return absl::StrCat(family, " ", tag.compiler_major);
}

std::string GlibcxxText(uint32_t release) {
  return release == 0 ? "not libstdc++" : absl::StrCat("libstdc++ ", release);
}

// A char array of a foreign binary need not end.
template <size_t size>
std::string ArrayText(const char (&array)[size]) {
  const std::string text(array, strnlen(array, size));
  return text.empty() ? "none" : text;
}

template <typename T>
Verdict Equal(const T& trainer, const T& plugin) {
  return trainer == plugin ? Verdict::kSame : Verdict::kRefused;
}

template <typename T>
Verdict NotNewer(const T& trainer, const T& plugin) {
  if (plugin == trainer) return Verdict::kSame;
  return plugin < trainer ? Verdict::kOlder : Verdict::kRefused;
}

AbiField Libtorch(const SlipwayAbiTag& trainer, const SlipwayAbiTag& plugin) {
  return {"LibTorch", LibtorchText(trainer.libtorch),
          LibtorchText(plugin.libtorch),
          Equal(trainer.libtorch, plugin.libtorch)};
}

// Compilers of two families are not compared by number: both follow one C++
// ABI, and the standard library is compared by itself.
AbiField Compiler(const SlipwayAbiTag& trainer, const SlipwayAbiTag& plugin) {
  return {"compiler", CompilerText(trainer), CompilerText(plugin),
          trainer.compiler_family == plugin.compiler_family
              ? NotNewer(trainer.compiler_major, plugin.compiler_major)
              : Verdict::kHarmless};
}

AbiField CompilerAbi(const SlipwayAbiTag& trainer,
                     const SlipwayAbiTag& plugin) {
  return {"compiler's ABI", absl::StrCat(trainer.gxx_abi),
          absl::StrCat(plugin.gxx_abi),
          trainer.compiler_family == plugin.compiler_family ||
                  trainer.gxx_abi == plugin.gxx_abi
              ? NotNewer(trainer.gxx_abi, plugin.gxx_abi)
              : Verdict::kHarmless};
}

AbiField Language(const SlipwayAbiTag& trainer, const SlipwayAbiTag& plugin) {
  return {"C++ standard", absl::StrCat(trainer.cplusplus),
          absl::StrCat(plugin.cplusplus),
          NotNewer(trainer.cplusplus, plugin.cplusplus)};
}

AbiField Library(const SlipwayAbiTag& trainer, const SlipwayAbiTag& plugin) {
  const bool both = trainer.glibcxx_release != 0 && plugin.glibcxx_release != 0;
  return {"standard library", GlibcxxText(trainer.glibcxx_release),
          GlibcxxText(plugin.glibcxx_release),
          both ? NotNewer(trainer.glibcxx_release, plugin.glibcxx_release)
               : Equal(trainer.glibcxx_release, plugin.glibcxx_release)};
}

AbiField LibraryAbi(const SlipwayAbiTag& trainer, const SlipwayAbiTag& plugin) {
  const std::vector<Bit> names = {{kGlibcxxCxx11Abi, "cxx11"},
                                  {kGlibcxxDebug, "debug"}};
  return {"standard library's ABI", BitNames(trainer.glibcxx_abi, names),
          BitNames(plugin.glibcxx_abi, names),
          Equal(trainer.glibcxx_abi, plugin.glibcxx_abi)};
}

AbiField AbseilNamespace(const SlipwayAbiTag& trainer,
                         const SlipwayAbiTag& plugin) {
  const std::string ours = ArrayText(trainer.abseil_namespace);
  const std::string theirs = ArrayText(plugin.abseil_namespace);
  return {"Abseil's namespace", ours, theirs, Equal(ours, theirs)};
}

AbiField AbseilOptions(const SlipwayAbiTag& trainer,
                       const SlipwayAbiTag& plugin) {
  const std::vector<Bit> names = {{kAbseilStdAny, "any"},
                                  {kAbseilStdOptional, "optional"},
                                  {kAbseilStdStringView, "string_view"},
                                  {kAbseilStdVariant, "variant"}};
  return {"Abseil's standard types", BitNames(trainer.abseil_options, names),
          BitNames(plugin.abseil_options, names),
          Equal(trainer.abseil_options, plugin.abseil_options)};
}

AbiField Sanitizers(const SlipwayAbiTag& trainer, const SlipwayAbiTag& plugin) {
  const std::vector<Bit> names = {{kSanitizerAddress, "address"},
                                  {kSanitizerThread, "thread"},
                                  {kSanitizerMemory, "memory"}};
  return {"sanitizers", BitNames(trainer.sanitizers, names),
          BitNames(plugin.sanitizers, names),
          Equal(trainer.sanitizers, plugin.sanitizers)};
}

AbiField ValueSizes(const SlipwayAbiTag& trainer, const SlipwayAbiTag& plugin) {
  return {"sizes of values", absl::StrCat(absl::Hex(trainer.value_sizes)),
          absl::StrCat(absl::Hex(plugin.value_sizes)),
          Equal(trainer.value_sizes, plugin.value_sizes)};
}

AbiField Headers(const SlipwayAbiTag& trainer, const SlipwayAbiTag& plugin) {
  const std::string ours = ArrayText(trainer.headers);
  const std::string theirs = ArrayText(plugin.headers);
  return {"public headers", ours, theirs,
          ours == theirs ? Verdict::kSame : Verdict::kHarmless};
}

// What the plugin's tag holds, whatever the size of its struct was.
SlipwayAbiTag CopyTag(const SlipwayAbiTag& tag) {
  SlipwayAbiTag copy = {};
  std::memcpy(&copy, &tag, std::min<size_t>(tag.struct_size, sizeof(copy)));
  return copy;
}

AbiField ApiVersion(const SlipwayPluginDescriptor& plugin) {
  const std::pair ours(kSlipwayApiMajor, kSlipwayApiMinor);
  const std::pair theirs(plugin.api_major, plugin.api_minor);
  const bool refused = ours.first != theirs.first || ours < theirs;
  return {"plugin API", absl::StrCat(ours.first, ".", ours.second),
          absl::StrCat(theirs.first, ".", theirs.second),
          refused          ? Verdict::kRefused
          : ours == theirs ? Verdict::kSame
                           : Verdict::kHarmless};
}

}  // namespace

SlipwayAbiTag TrainerAbi() {
  SlipwayAbiTag tag = ThisAbi();
  tag.libtorch = aoti_torch_abi_version();
  return tag;
}

std::vector<AbiField> CompareAbi(const SlipwayAbiTag& trainer,
                                 const SlipwayAbiTag& plugin) {
  const SlipwayAbiTag copy = CopyTag(plugin);
  std::vector<AbiField> fields;
  for (const auto compare :
       {&Libtorch, &Compiler, &CompilerAbi, &Language, &Library, &LibraryAbi,
        &AbseilNamespace, &AbseilOptions, &Sanitizers, &ValueSizes, &Headers}) {
    fields.push_back(compare(trainer, copy));
  }
  return fields;
}

std::vector<AbiField> CompareAbi(const SlipwayPluginDescriptor& plugin) {
  std::vector<AbiField> fields = {ApiVersion(plugin)};
  for (AbiField& field : CompareAbi(TrainerAbi(), *plugin.abi)) {
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string FormatAbi(const std::vector<AbiField>& fields, Verdict verdict) {
  std::vector<std::string> lines;
  for (const AbiField& field : fields) {
    if (field.verdict != verdict) continue;
    lines.push_back(absl::StrCat(field.name, ": trainer ", field.trainer,
                                 ", plugin ", field.plugin));
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace slipway
