// What the launcher adds to a program's own start: from the command to the
// first line of both of two ranks.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "tests/e2e/process.h"
#include "tests/perf/harness.h"

namespace slipway {
namespace {

// Starts a program whose output can be read from the descriptor.
pid_t Start(const std::vector<std::string>& command, int& out) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) std::abort();
  std::vector<char*> argv;
  for (const std::string& word : command) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(fds[1], STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(fds[1]);
  out = fds[0];
  return pid;
}

// Both ranks have said it, be it in one line.
bool BothAreReady(const std::string& text) {
  return text.find("[0-1] ready\n") != text.npos ||
         (text.find("[0] ready\n") != text.npos &&
          text.find("[1] ready\n") != text.npos);
}

bool IsReady(const std::string& text) { return text == "ready\n"; }

// Seconds until what the program has written is enough.
double TimeUntil(const std::vector<std::string>& command,
                 bool (*enough)(const std::string&)) {
  const auto start = std::chrono::steady_clock::now();
  int out = -1;
  const pid_t pid = Start(command, out);
  std::string text;
  char bytes[4096];
  double seconds = -1;
  for (ssize_t got; (got = read(out, bytes, sizeof(bytes))) > 0;) {
    text.append(bytes, static_cast<size_t>(got));
    if (seconds >= 0 || !enough(text)) continue;
    seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
  }
  close(out);
  waitpid(pid, nullptr, 0);
  if (seconds < 0) {
    std::cerr << "not ready: " << text << "\n";
    std::abort();
  }
  return seconds;
}

}  // namespace
}  // namespace slipway

int main(int argc, char** argv) {
  using namespace slipway;  // NOLINT: the program's own
  perf::Benchmark benchmark("launch", "seconds to the first line of all ranks");
  if (!benchmark.ParseArguments(argc, argv)) return 2;
  const std::vector<std::string> alone = {RunfilePath("tests/perf/first_line")};
  const std::vector<std::string> launched = {
      RunfilePath("launcher/launcher_alone"),
      "--num_processes=2",
      "--bind=none",
      "--log_dir=/tmp/slipway_perf_launch",
      "--",
      alone[0]};
  const perf::Measure own = [&] { return TimeUntil(alone, IsReady); };
  const perf::Measure added = [&] {
    const double before = own();
    return std::max(TimeUntil(launched, BothAreReady) - before, 1e-6);
  };
  benchmark.Compare(
      {"what the launcher adds", "50 ms", added, perf::Constant(0.050), 1});
  benchmark.Compare({"two ranks, launched", "the program alone",
                     [&] { return TimeUntil(launched, BothAreReady); }, own,
                     0});
  return benchmark.Finish(std::cout);
}
