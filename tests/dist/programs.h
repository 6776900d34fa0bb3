// Starts a program once for each rank, as a launcher would.
//
//   RankedProgram ranks(2, TrainerPath(), {"--recipe=digits_resnet"}, folder);
//   ranks.Signal(1, SIGTERM);
//   for (const Outcome& rank : ranks.Wait()) EXPECT_EQ(rank.exit_code, 143);
//
// Each process runs in `folder` with one thread for tensor operations.
#ifndef SLIPWAY_TESTS_DIST_PROGRAMS_H_
#define SLIPWAY_TESTS_DIST_PROGRAMS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/process.h"

namespace slipway {

class RankedProgram {
 public:
  // `environment` is added to each rank's, `of_rank` to one's.
  RankedProgram(
      int count, const std::string& program,
      const std::vector<std::string>& arguments, const std::string& folder,
      const std::map<std::string, std::string>& environment = {},
      const std::map<int, std::map<std::string, std::string>>& of_rank = {});

  void Signal(int rank, int signal);
  // Until all have ended; in the order of ranks.
  std::vector<Outcome> Wait();

 private:
  std::vector<std::unique_ptr<Process>> processes_;
};

// The trainer on `count` ranks, until it ends.
std::vector<Outcome> RunTrainerRanks(
    int count, const std::vector<std::string>& arguments,
    const std::string& folder,
    const std::map<std::string, std::string>& environment = {});

// Another program, which opens the port itself.
std::vector<Outcome> RunProgramRanks(int count, const std::string& program,
                                     const std::vector<std::string>& arguments,
                                     const std::string& folder);

}  // namespace slipway

#endif  // SLIPWAY_TESTS_DIST_PROGRAMS_H_
