#include "trainer/plugin/abi.h"

#include <cstring>
#include <functional>

#include "gtest/gtest.h"
#include "trainer/plan/version.h"
#include "trainer/plugin/this_abi.h"

namespace slipway {
namespace {

using Verdict = AbiField::Verdict;

// A trainer's tag with values that do not depend on who compiles this.
SlipwayAbiTag Tag() {
  SlipwayAbiTag tag = {};
  tag.struct_size = sizeof(tag);
  tag.compiler_family = kCompilerGcc;
  tag.compiler_major = 12;
  tag.gxx_abi = 1017;
  tag.cplusplus = 202002;
  tag.glibcxx_release = 12;
  tag.glibcxx_abi = kGlibcxxCxx11Abi;
  tag.libtorch = 0x020f000000000000;
  std::strcpy(tag.abseil_namespace, "debian3");
  tag.value_sizes = 0xabc;
  std::strcpy(tag.headers, "0123");
  return tag;
}

TEST(CompareAbi, FindsNoDifferenceFromItself) {
  for (const SlipwayAbiTag& tag : {Tag(), ThisAbi(), TrainerAbi()}) {
    for (const AbiField& field : CompareAbi(tag, tag)) {
      EXPECT_EQ(field.verdict, Verdict::kSame) << field.name;
      EXPECT_EQ(field.trainer, field.plugin);
    }
  }
}

TEST(CompareAbi, JudgesEachField) {
  const struct {
    std::function<void(SlipwayAbiTag&)> change;
    Verdict verdict;
    std::string line;
  } cases[] = {
      {[](auto& tag) { tag.libtorch = 0x020e010000000000; }, Verdict::kRefused,
       "LibTorch: trainer 2.15.0, plugin 2.14.1"},
      {[](auto& tag) { tag.libtorch |= 5; }, Verdict::kRefused,
       "LibTorch: trainer 2.15.0, plugin 2.15.0 (tag 5)"},
      {[](auto& tag) { tag.compiler_major = 13; }, Verdict::kRefused,
       "compiler: trainer GCC 12, plugin GCC 13"},
      {[](auto& tag) { tag.compiler_major = 11; }, Verdict::kOlder,
       "compiler: trainer GCC 12, plugin GCC 11"},
      {[](auto& tag) { tag.compiler_family = 7; }, Verdict::kHarmless,
       "compiler: trainer GCC 12, plugin unknown 12"},
      {[](auto& tag) { tag.gxx_abi = 1018; }, Verdict::kRefused,
       "compiler's ABI: trainer 1017, plugin 1018"},
      {[](auto& tag) { tag.gxx_abi = 1016; }, Verdict::kOlder,
       "compiler's ABI: trainer 1017, plugin 1016"},
      {[](auto& tag) { tag.cplusplus = 202302; }, Verdict::kRefused,
       "C++ standard: trainer 202002, plugin 202302"},
      {[](auto& tag) { tag.glibcxx_release = 13; }, Verdict::kRefused,
       "standard library: trainer libstdc++ 12, plugin libstdc++ 13"},
      {[](auto& tag) { tag.glibcxx_release = 11; }, Verdict::kOlder,
       "standard library: trainer libstdc++ 12, plugin libstdc++ 11"},
      {[](auto& tag) { tag.glibcxx_release = 0; }, Verdict::kRefused,
       "standard library: trainer libstdc++ 12, plugin not libstdc++"},
      {[](auto& tag) { tag.glibcxx_abi = 0; }, Verdict::kRefused,
       "standard library's ABI: trainer cxx11, plugin none"},
      {[](auto& tag) { tag.glibcxx_abi |= kGlibcxxDebug; }, Verdict::kRefused,
       "standard library's ABI: trainer cxx11, plugin cxx11, debug"},
      {[](auto& tag) { std::strcpy(tag.abseil_namespace, "lts_20240722"); },
       Verdict::kRefused,
       "Abseil's namespace: trainer debian3, plugin lts_20240722"},
      {[](auto& tag) { std::memset(tag.abseil_namespace, 'x', 32); },
       Verdict::kRefused,
       "Abseil's namespace: trainer debian3, plugin " + std::string(32, 'x')},
      {[](auto& tag) { tag.abseil_options = kAbseilStdOptional; },
       Verdict::kRefused,
       "Abseil's standard types: trainer none, plugin optional"},
      {[](auto& tag) { tag.sanitizers = kSanitizerAddress | 8; },
       Verdict::kRefused, "sanitizers: trainer none, plugin address, bits 0x8"},
      {[](auto& tag) { tag.value_sizes = 0xabd; }, Verdict::kRefused,
       "sizes of values: trainer abc, plugin abd"},
      {[](auto& tag) { tag.headers[0] = '\0'; }, Verdict::kHarmless,
       "public headers: trainer 0123, plugin none"},
  };
  for (const auto& test : cases) {
    SlipwayAbiTag plugin = Tag();
    test.change(plugin);
    EXPECT_EQ(FormatAbi(CompareAbi(Tag(), plugin), test.verdict), test.line);
  }
}

TEST(CompareAbi, ListsAllDifferences) {
  SlipwayAbiTag plugin = Tag();
  plugin.libtorch = 0x020e010000000000;
  plugin.sanitizers = kSanitizerThread;
  EXPECT_EQ(FormatAbi(CompareAbi(Tag(), plugin), Verdict::kRefused),
            "LibTorch: trainer 2.15.0, plugin 2.14.1\n"
            "sanitizers: trainer none, plugin thread");
}

TEST(CompareAbi, ReadsNoFurtherThanTheTagIsLong) {
  SlipwayAbiTag plugin = Tag();
  plugin.struct_size = offsetof(SlipwayAbiTag, value_sizes);
  EXPECT_EQ(FormatAbi(CompareAbi(Tag(), plugin), Verdict::kRefused),
            "sizes of values: trainer abc, plugin 0");
}

TEST(CompareAbi, ComparesTheVersionOfTheApi) {
  const SlipwayAbiTag tag = TrainerAbi();
  const struct {
    int major, minor;
    Verdict verdict;
  } cases[] = {
      {kSlipwayApiMajor, kSlipwayApiMinor, Verdict::kSame},
      {kSlipwayApiMajor, kSlipwayApiMinor + 1, Verdict::kRefused},
      {kSlipwayApiMajor + 1, 0, Verdict::kRefused},
      {kSlipwayApiMajor - 1, kSlipwayApiMinor + 1, Verdict::kRefused},
  };
  for (const auto& test : cases) {
    SlipwayPluginDescriptor plugin = {};
    plugin.abi = &tag;
    plugin.api_major = test.major;
    plugin.api_minor = test.minor;
    EXPECT_EQ(CompareAbi(plugin)[0].verdict, test.verdict);
  }
}

TEST(CompareAbi, SpeaksTheApiThatManifestsAreCheckedAgainst) {
  EXPECT_EQ(plan::PluginApi(),
            (plan::Version{kSlipwayApiMajor, kSlipwayApiMinor, 0, ""}));
}

TEST(ThisAbi, IsWhatTheCompilerSays) {
  constexpr SlipwayAbiTag tag = ThisAbi();
  EXPECT_EQ(tag.cplusplus, __cplusplus);
  EXPECT_EQ(tag.libtorch, TrainerAbi().libtorch);
  EXPECT_NE(tag.headers[0], '\0');
  EXPECT_EQ(std::strlen(tag.headers), 16);
}

}  // namespace
}  // namespace slipway
