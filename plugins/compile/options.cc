#include "plugins/compile/options.h"

#include <dlfcn.h>

#include <filesystem>

#include "nlohmann/json.hpp"
#include "trainer/recipe/params.h"

namespace slipway::compile {

std::string BesideLibrary(const std::string& name) {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&BesideLibrary), &info) == 0) {
    return name;
  }
  return std::filesystem::absolute(info.dli_fname).parent_path() / name;
}

absl::StatusOr<Options> ReadOptions(const recipe::Node& config) {
  Problems problems;
  recipe::Params params(config, "plugin compile", problems);
  Options options;
  options.mode = params.Text("mode", "default",
                             {"default", "reduce-overhead", "max-autotune",
                              "max-autotune-no-cudagraphs"});
  options.scope = params.Text("scope", "auto", {"auto", "model", "step"});
  options.loss = params.Bool("loss", false);
  options.wait = params.Bool("wait", false);
  options.required = params.Bool("required", false);
  options.timeout = params.Double("timeout", {.fallback = 1800, .min = 0});
  options.debug_dir = params.Text("debug_dir", "");
  options.cache_dir = params.Text("cache_dir", "");
  const recipe::Node* const dynamic = params.Raw("dynamic");
  if (dynamic != nullptr && dynamic->is_bool()) {
    options.dynamic = dynamic->AsBool();
  }
  // Forward and loss are captured whole, or not at all.
  params.Bool("fullgraph", false);
  params.Text("backend", "inductor", {"inductor"});
  const recipe::Node* const compiler = params.Raw("options");
  if (compiler != nullptr && compiler->is_map()) {
    options.compiler_options = compiler->ToJson().dump();
  }
  options.disable = params.Bool("disable", false);
  options.program = BesideLibrary("run_compiler.py");
  params.Finish();
  if (HasErrors(problems)) {
    return absl::InvalidArgumentError(FormatProblems(problems));
  }
  return options;
}

}  // namespace slipway::compile
