// The plugin's configuration, as values. Fields are the manifest's, which says
// what they mean, but for one.
#ifndef SLIPWAY_PLUGINS_COMPILE_OPTIONS_H_
#define SLIPWAY_PLUGINS_COMPILE_OPTIONS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/recipe/node.h"

namespace slipway::compile {

struct Options {
  std::string mode = "default";
  std::string scope = "auto";
  bool loss = false;
  bool wait = false;
  bool required = false;
  double timeout = 1800;  // seconds
  std::string debug_dir;
  std::string cache_dir;
  std::optional<bool> dynamic;
  std::string compiler_options = "{}";  // a JSON object
  bool disable = false;

  // The compiler: run_compiler.py, which lies beside the plugin's library. Not
  // the recipe's business.
  std::string program;
};

// The file `name` beside the library (or program) that has this code.
std::string BesideLibrary(const std::string& name);

// INVALID_ARGUMENT lists all that is wrong.
absl::StatusOr<Options> ReadOptions(const recipe::Node& config);

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_OPTIONS_H_
