// The launcher's program around other programs, for tests.
//
//   const Launched run = RunLauncher({"--num_processes=2"}, "echo $RANK");
//   EXPECT_EQ(run.exit_code, 0) << run.err;
//   run.report["attempts"][0]["ranks"][1]["cpus_bound"];
#ifndef SLIPWAY_TESTS_LAUNCHER_LAUNCH_PROGRAM_H_
#define SLIPWAY_TESTS_LAUNCHER_LAUNCH_PROGRAM_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"

namespace slipway {

std::string LauncherPath();

// What has become of a launch.
struct Launched {
  int exit_code = -1;
  std::string out;
  std::string err;
  std::string raw_out;    // rank 0's alone, as it wrote it
  nlohmann::json report;  // launch_report.json; null if there is none
};

// A launch of `sh -c script` that runs. Its log folder is its own.
class Launch {
 public:
  Launch(const std::vector<std::string>& flags, const std::string& script,
         const std::map<std::string, std::string>& environment = {});

  void Signal(int signal) { process_->Signal(signal); }
  // Until it ends.
  Launched Wait();

 private:
  std::string logs_;
  std::unique_ptr<Process> process_;
};

Launched RunLauncher(
    const std::vector<std::string>& flags, const std::string& script,
    const std::map<std::string, std::string>& environment = {});

// What the launcher itself answers: plan, topo, env, or a refusal.
Outcome AskLauncher(const std::vector<std::string>& arguments,
                    const std::map<std::string, std::string>& environment = {});

// A file in the test's folder that does not exist yet, for scripts to write.
std::string FreshFile(const std::string& name);
// The number in that file; waits up to ten seconds for it, else 0.
int NumberIn(const std::string& path);
// Whether `pid` runs (a zombie does not), and whether it is gone within five
// seconds.
bool IsAlive(pid_t pid);
bool Dies(pid_t pid);

// CPUs of physical cores of their own that this process may use.
int UsableCores();

}  // namespace slipway

#endif  // SLIPWAY_TESTS_LAUNCHER_LAUNCH_PROGRAM_H_
