// A program of its own for spawn_test: it does what its argument says.
#include <sched.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"
#include "launcher/spawn/spawn.h"

namespace slipway::launcher {
namespace {

std::string task;  // NOLINT: the program's only argument

absl::Status Work(const Rank& rank) {
  if (task == "error" && rank.rank == 1) {
    return absl::DataLossError("no data left");
  }
  if (task == "throw") throw std::runtime_error("thrown");
  if (task == "crash" && rank.rank == 0) raise(SIGKILL);
  if (task == "lists") {
    std::cout << absl::StrCat("auto_lr ", std::getenv("SLIPWAY_AUTO_LR"), "\n");
  }
  if (task == "restart" && rank.restart == 0) return absl::AbortedError("once");
  std::cout << absl::StrCat("rank ", rank.rank, " of ", rank.world_size,
                            " on CPU ", sched_getcpu(), " says ", task, "\n");
  return absl::OkStatus();
}

int Main() {
  SpawnOptions options = {.num_processes = 2,
                          .grace = absl::Seconds(1),
                          .max_restarts = task == "restart" ? 1 : 0};
  if (task == "many") options.num_processes = 100000;
  if (task == "lists") {
    options.cpu_for_each_process = {{1}, {0}};
    options.auto_lr = false;
  }
  if (task == "twice") {
    const int code = ExitCode(Spawn(options, [](const Rank& rank) {
      std::cout << absl::StrCat("first ", rank.rank, "\n");
      return absl::OkStatus();
    }));
    if (code != 0) return code;
  }
  const absl::StatusOr<LaunchReport> report = Spawn(options, Work);
  std::cout << "behind the call\n";
  return ExitCode(report);
}

}  // namespace
}  // namespace slipway::launcher

int main(int argc, char** argv) {
  if (argc > 1) slipway::launcher::task = argv[1];
  return slipway::launcher::Main();
}
