// Opens a plugin's shared library and finds its descriptor.
//
//   Problems problems;
//   const SlipwayPluginDescriptor* plugin =
//       OpenLibrary("plugins/ema/libema.so", problems);
//   if (plugin != nullptr && CheckAbi(*plugin, path, problems)) ...
//
// A library stays loaded until the process ends: closing one crashes autograd
// nodes that it made. Its symbols are its own (RTLD_LOCAL), and all of them are
// resolved at once (RTLD_NOW). Opening runs the library's static constructors,
// and nothing else of it but the entry.
#ifndef SLIPWAY_TRAINER_PLUGIN_LIBRARY_H_
#define SLIPWAY_TRAINER_PLUGIN_LIBRARY_H_

#include <string>

#include "trainer/plugin/entry.h"
#include "trainer/recipe/problem.h"

namespace slipway {

// The library's descriptor, whose API, ABI, id and version are still to be
// compared. Null with one error appended: of kind "not_found" where there is no
// such file, of kind "abi" where it is no shared library, needs symbols that
// this trainer has not, has no entry of this version, or returns from it what
// is no descriptor.
const SlipwayPluginDescriptor* OpenLibrary(const std::string& path,
                                           Problems& problems);

// False, with one error of kind "abi" that lists all differences, if the
// library cannot run in this trainer. A note if it was built with older tools.
bool CheckAbi(const SlipwayPluginDescriptor& plugin, const std::string& path,
              Problems& problems);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_PLUGIN_LIBRARY_H_
