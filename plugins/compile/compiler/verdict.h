// What the end of the compiler's process means, in one sentence.
//
//   absl::Status status = Verdict(wait_status, "/runs/1/compile.log");
#ifndef SLIPWAY_PLUGINS_COMPILE_COMPILER_VERDICT_H_
#define SLIPWAY_PLUGINS_COMPILE_COMPILER_VERDICT_H_

#include <string>

#include "absl/status/status.h"

namespace slipway::compile {

// `ended` is what waitpid() told. The reason is the last line of the file `log`
// that is a JSON object with "error" (compile_errors.py); without one, its last
// lines are. The codes are those of CompilerJob::status().
absl::Status Verdict(int ended, const std::string& log);

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_COMPILER_VERDICT_H_
