#include "tests/perf/python_peer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "glog/logging.h"

namespace slipway::perf {
namespace {

constexpr char kWithPyTorch[] = "third_party/pytorch/with_pytorch.py";

std::string Python() {
  const char* const chosen = std::getenv("PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : "python3";
}

}  // namespace

PythonPeer::PythonPeer(const std::vector<std::string>& command) {
  // A peer that has ended is an answer that does not come.
  signal(SIGPIPE, SIG_IGN);
  int in[2], out[2];
  PCHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
  std::vector<std::string> all = {Python(), kWithPyTorch};
  all.insert(all.end(), command.begin(), command.end());
  std::vector<char*> argv;
  for (std::string& argument : all) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = fork();
  PCHECK(pid_ >= 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL);
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = fdopen(in[1], "w");
  from_ = fdopen(out[0], "r");
}

PythonPeer::~PythonPeer() {
  std::fclose(to_);
  std::fclose(from_);
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

std::vector<double> PythonPeer::Ask(const std::string& line) {
  if (std::fprintf(to_, "%s\n", line.c_str()) < 0 || std::fflush(to_) != 0) {
    return {};
  }
  char answer[200] = {};
  if (std::fgets(answer, sizeof(answer), from_) == nullptr) return {};
  std::istringstream text(answer);
  std::vector<double> numbers;
  for (double number = 0; text >> number;) numbers.push_back(number);
  return numbers;
}

}  // namespace slipway::perf
