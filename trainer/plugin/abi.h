// Whether a plugin's binary fits this trainer, field by field.
//
//   for (const AbiField& field : CompareAbi(*descriptor)) {
//     std::cout << field.name << ": trainer " << field.trainer << ", plugin "
//               << field.plugin << "\n";
//   }
//
// No field can be overridden by users: calling C++ of another ABI corrupts
// memory. Pure functions, safe from any thread.
#ifndef SLIPWAY_TRAINER_PLUGIN_ABI_H_
#define SLIPWAY_TRAINER_PLUGIN_ABI_H_

#include <string>
#include <vector>

#include "trainer/plugin/abi_tag.h"
#include "trainer/plugin/entry.h"

namespace slipway {

struct AbiField {
  enum class Verdict {
    kSame,
    kHarmless,  // differs, and need not be told
    kOlder,     // the plugin's is older, which works; worth a note
    kRefused,
  };
  // "LibTorch", "Abseil's namespace", ...
  std::string name;
  // For people: "2.15.0", "GCC 12", "address, thread".
  std::string trainer;
  std::string plugin;
  Verdict verdict = Verdict::kSame;
};

// What this trainer was compiled with; its LibTorch is the one that is loaded.
SlipwayAbiTag TrainerAbi();

// Every field, equal or not, always in the same order. A field that the
// plugin's shorter tag lacks counts as zero.
std::vector<AbiField> CompareAbi(const SlipwayAbiTag& trainer,
                                 const SlipwayAbiTag& plugin);

// The same for a library, its API version first.
std::vector<AbiField> CompareAbi(const SlipwayPluginDescriptor& plugin);

// The fields with this verdict, a line each without a newline at the end:
// "LibTorch: trainer 2.15.0, plugin 2.14.1".
std::string FormatAbi(const std::vector<AbiField>& fields,
                      AbiField::Verdict verdict);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_ABI_H_
