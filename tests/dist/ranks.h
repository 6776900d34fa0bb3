// Runs a function in several real processes that find each other, for tests of
// what ranks do.
//
//   const std::vector<Ended> ranks =
//       RunRanks(2, [](dist::ProcessGroup& group, std::ostream& out) {
//         at::Tensor t = at::full({1}, group.rank());
//         if (!group.AllReduce(t).Wait().ok()) std::abort();
//         out << t.item().toDouble();
//       });
//   EXPECT_THAT(ranks, Each(EndsWith("1")));   // see Said()
//
// The processes are forks of the test: it must not have used several threads of
// LibTorch's before, so that tests of ranks compute inside the ranks and
// compare texts outside.
#ifndef SLIPWAY_TESTS_DIST_RANKS_H_
#define SLIPWAY_TESTS_DIST_RANKS_H_

#include <chrono>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "trainer/dist/process_group.h"

namespace slipway {

struct Ended {
  int exit_code = -1;  // 128 + signal if a signal ended it
  std::string said;    // what the function wrote to its stream
  double seconds = 0;  // from the start to the end
};

// What one rank does. Exceptions end it with code 1, after their message.
using RankFunction =
    std::function<void(dist::ProcessGroup& group, std::ostream& out)>;

struct RankOptions {
  // Of one operation.
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  // False: the function calls group.Connect() itself.
  bool connect = true;
};

// Runs `function` in `count` processes with one thread each, and waits until
// all have ended.
std::vector<Ended> RunRanks(int count, const RankFunction& function,
                            const RankOptions& options = {});

// What they said, in the order of ranks; fails the test if one ended otherwise
// than with 0.
std::vector<std::string> Said(const std::vector<Ended>& ranks);

}  // namespace slipway

#endif  // SLIPWAY_TESTS_DIST_RANKS_H_
