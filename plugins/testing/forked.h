// Runs a function in a process of its own, and hears what came of it.
//
//   const Ended ended = RunForked([] { return absl::OkStatus(); },
//                                 absl::Seconds(60));
//
// The process is a fork: this one must not have other threads, nor have used
// LibTorch's, so that it calls nothing that computes on tensors.
#ifndef SLIPWAY_PLUGINS_TESTING_FORKED_H_
#define SLIPWAY_PLUGINS_TESTING_FORKED_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "trainer/dist/process_group.h"

namespace slipway::testing {

// What `function` returned there; INTERNAL where it threw, ended the process or
// was ended by a signal; DEADLINE_EXCEEDED, after its end by force, where it
// took longer than `limit`. What the process left running ends with it.
absl::Status RunForked(const std::function<absl::Status()>& function,
                       absl::Duration limit);

// Says what the function is at, for the message where it does not return. In
// such a process only; elsewhere it does nothing.
void NowAt(const std::string& stage);

// What one of several ranks does; the text that it has to say.
using RankFunction =
    std::function<absl::StatusOr<std::string>(dist::ProcessGroup& group)>;

// What each of `count` connected ranks says, each a process of its own, or the
// first error of any.
absl::StatusOr<std::vector<std::string>> RunRanks(int count,
                                                  const RankFunction& function,
                                                  absl::Duration limit);

}  // namespace slipway::testing

#endif  // SLIPWAY_PLUGINS_TESTING_FORKED_H_
