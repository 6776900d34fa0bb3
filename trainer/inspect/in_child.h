// Work that may crash, hang or end the process, done in a child.
//
//   const ChildEnd end = RunInChild(
//       [](const SendLine& send) { send("opening"); Open(); send("done"); },
//       absl::Seconds(10));
//   if (!end.how.empty()) std::cerr << "it " << end.how << "\n";
//
// The child is a copy of this process (fork without exec), which must have one
// thread. What it prints goes to standard error; it leaves no core file, and
// nothing that it started outlives it. For one thread.
#ifndef SLIPWAY_TRAINER_INSPECT_IN_CHILD_H_
#define SLIPWAY_TRAINER_INSPECT_IN_CHILD_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace slipway::inspect {

// Tells the parent one line, which has no newline in it.
using SendLine = std::function<void(const std::string& line)>;

struct ChildEnd {
  // What was sent before the end.
  std::vector<std::string> lines;
  // Empty if `work` returned; else what happened instead: "was ended by SIGSEGV
  // (Segmentation fault)", "called exit(3)", "did not come back in 10s".
  std::string how;
};

ChildEnd RunInChild(absl::FunctionRef<void(const SendLine&)> work,
                    absl::Duration limit);

}  // namespace slipway::inspect

#endif  // SLIPWAY_TRAINER_INSPECT_IN_CHILD_H_
