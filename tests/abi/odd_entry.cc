// A library whose entry returns what $SLIPWAY_TEST_ODDITY says: one library
// stands for many.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "trainer/plugin/plugin.h"

namespace {

SlipwayAbiTag tag;
SlipwayPluginDescriptor descriptor;

const std::map<std::string, std::function<void()>>& Oddities() {
  static const std::map<std::string, std::function<void()>> oddities = {
      {"none", [] {}},
      {"magic", [] { descriptor.magic = 0x7f; }},
      {"short", [] { descriptor.struct_size = 16; }},
      {"null_abi", [] { descriptor.abi = nullptr; }},
      {"null_create", [] { descriptor.create = nullptr; }},
      {"throws", [] { throw std::runtime_error("no entry"); }},
      {"crashes", [] { raise(SIGSEGV); }},
      {"exits", [] { _exit(0); }},
      {"hangs",
       [] {
         while (true) pause();
       }},
      {"other_libtorch", [] { tag.libtorch = 0x020e010000000000; }},
      {"other_abseil",
       [] { std::strcpy(tag.abseil_namespace, "lts_20240722"); }},
      {"other_abi",
       [] {
         tag.libtorch = 0x020e010000000000;
         std::strcpy(tag.abseil_namespace, "lts_20240722");
       }},
      {"newer_compiler", [] { tag.compiler_major += 1; }},
      {"older_compiler", [] { tag.compiler_major -= 1; }},
      {"next_api", [] { descriptor.api_major += 1; }},
  };
  return oddities;
}

void* Create(const void* config, void* status) { return nullptr; }

}  // namespace

extern "C" const SlipwayPluginDescriptor* slipway_plugin_entry_v1() {
  tag = slipway::ThisAbi();
  descriptor = {.struct_size = sizeof(descriptor),
                .magic = kSlipwayPluginMagic,
                .api_major = kSlipwayApiMajor,
                .api_minor = kSlipwayApiMinor,
                .abi = &tag,
                .id = "odd",
                .version = "1.0.0",
                .create = &Create,
                .destroy = &slipway::DestroyPlugin,
                .query = nullptr};
  const std::string oddity = std::getenv("SLIPWAY_TEST_ODDITY");
  if (oddity == "null") return nullptr;
  Oddities().at(oddity)();
  return &descriptor;
}
