// The binary contract: one C symbol that returns a plain struct.
//
//   extern "C" const SlipwayPluginDescriptor* slipway_plugin_entry_v1(void);
//
// The trainer compares the descriptor's fields with its own, one by one, before
// it makes any C++ call. Authors write SLIPWAY_PLUGIN(id, version, Class); the
// structs are for the loader and the inspector. New fields are only ever
// appended: struct_size tells which are there.
#ifndef SLIPWAY_TRAINER_PLUGIN_ENTRY_H_
#define SLIPWAY_TRAINER_PLUGIN_ENTRY_H_

#include "tests/abi/api_1_1/trainer/plugin/abi_tag.h"

extern "C" {

// How a C++ object crosses the C boundary: both sides have the same ABI, which
// was checked before `create` is called.
struct SlipwayPluginDescriptor {
  uint32_t struct_size;
  uint32_t magic;  // kSlipwayPluginMagic
  uint16_t api_major;
  uint16_t api_minor;
  // By pointer, so that both structs can grow.
  const SlipwayAbiTag* abi;
  const char* id;
  const char* version;
  // A new slipway::Plugin*, or null with *status (an absl::Status*) set.
  // `config` is a const slipway::recipe::Node*. Throws nothing.
  void* (*create)(const void* config, void* status);
  // Deletes what `create` made.
  void (*destroy)(void* plugin);
  // Library-wide optional interfaces, by name; null if unknown.
  const void* (*query)(const char* interface);
};

}  // extern "C"

inline constexpr uint32_t kSlipwayPluginMagic = 0x534c4950;  // "SLIP"
inline constexpr uint16_t kSlipwayApiMajor = 1;
inline constexpr uint16_t kSlipwayApiMinor = 1;

#endif  // SLIPWAY_TRAINER_PLUGIN_ENTRY_H_
