#include "plugins/testing/forked.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

#include "ATen/Parallel.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "trainer/plugin/exception.h"

namespace slipway::testing {
namespace {

using Function = std::function<absl::StatusOr<std::string>()>;

// The pipe of this process, if it is a child; set once, at its start.
int to_parent = -1;

// Each message is ended by a zero.
void Send(const std::string& message) {
  const std::string text = message + '\0';
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(to_parent, text.data() + done, text.size() - done);
    if (n <= 0) return;
    done += n;
  }
}

// A process on its way, and the pipe on which it says what it is at ("@..."),
// and at last what came of it: a status's code, a colon and a text.
class Child {
 public:
  explicit Child(const Function& function) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      Be(function, ends[1]);
    }
    // Whatever it starts ends with it.
    if (pid_ > 0) setpgid(pid_, pid_);
    close(ends[1]);
    from_ = ends[0];
  }
  ~Child() {
    if (from_ >= 0) close(from_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  absl::StatusOr<std::string> Wait(absl::Time until) {
    if (pid_ <= 0) return absl::InternalError("no process could be started");
    std::string said;
    const bool killed = !ReadAll(until, said);
    if (killed) kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    kill(-pid_, SIGKILL);
    return Parse(said, status, killed);
  }

 private:
  [[noreturn]] static void Be(const Function& function, int to) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    to_parent = to;
    at::set_num_threads(1);
    absl::StatusOr<std::string> result;
    try {
      result = function();
    } catch (...) {
      result = CurrentExceptionStatus();
    }
    Send(absl::StrCat(
        static_cast<int>(result.status().code()), ":",
        result.ok() ? *result : std::string(result.status().message())));
    // Destructors of what is the parent's are not run.
    _exit(0);
  }

  // False if the time was over before the process was.
  bool ReadAll(absl::Time until, std::string& text) {
    while (true) {
      const int64_t patience = absl::ToInt64Milliseconds(until - absl::Now());
      pollfd wait = {.fd = from_, .events = POLLIN, .revents = 0};
      if (patience <= 0) return false;
      if (poll(&wait, 1, static_cast<int>(patience)) == 0) return false;
      char buffer[4096];
      const ssize_t n = read(from_, buffer, sizeof(buffer));
      if (n <= 0) return true;
      text.append(buffer, n);
    }
  }

  static std::string HowItEnded(int status, bool killed) {
    if (killed) return "the process did not come to an end in time";
    if (!WIFSIGNALED(status)) {
      return absl::StrCat("the process ended itself with code ",
                          WEXITSTATUS(status));
    }
    return absl::StrCat("the process was ended by ",
                        std::string(strsignal(WTERMSIG(status))));
  }

  static absl::StatusOr<std::string> Parse(const std::string& said, int status,
                                           bool killed) {
    std::string stage;
    for (const auto view : absl::StrSplit(said, '\0', absl::SkipEmpty())) {
      const std::string message(view);
      if (message[0] == '@') {
        stage = message.substr(1) + ": ";
        continue;
      }
      const auto code =
          static_cast<absl::StatusCode>(std::atoi(message.c_str()));
      std::string text = message.substr(message.find(':') + 1);
      if (code == absl::StatusCode::kOk) return text;
      return absl::Status(code, text);
    }
    const std::string how = absl::StrCat(stage, HowItEnded(status, killed));
    return killed ? absl::DeadlineExceededError(how) : absl::InternalError(how);
  }

  pid_t pid_ = -1;
  int from_ = -1;
};

// A listening socket at a free port, which becomes rank 0's.
class Listener {
 public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (bind(fd_, any, size) == 0 && listen(fd_, 16) == 0 &&
        getsockname(fd_, any, &size) == 0) {
      port_ = ntohs(address.sin_port);
    }
  }
  ~Listener() { close(fd_); }
  int fd() const { return fd_; }
  int port() const { return port_; }

 private:
  int fd_;
  int port_ = 0;
};

dist::Environment EnvironmentOf(int rank, int count, const Listener& listener) {
  dist::Environment environment;
  environment.rank = environment.local_rank = rank;
  environment.world_size = environment.local_world_size = count;
  environment.master_port = listener.port();
  environment.peer_timeout = std::chrono::seconds(30);
  if (rank == 0) environment.store_fd = listener.fd();
  return environment;
}

}  // namespace

void NowAt(const std::string& stage) {
  if (to_parent >= 0) Send("@" + stage);
}

absl::Status RunForked(const std::function<absl::Status()>& function,
                       absl::Duration limit) {
  const Function with_text = [&]() -> absl::StatusOr<std::string> {
    const absl::Status status = function();
    if (!status.ok()) return status;
    return std::string();
  };
  return Child(with_text).Wait(absl::Now() + limit).status();
}

absl::StatusOr<std::vector<std::string>> RunRanks(int count,
                                                  const RankFunction& function,
                                                  absl::Duration limit) {
  const Listener listener;
  std::vector<std::unique_ptr<Child>> ranks;
  for (int rank = 0; rank < count; ++rank) {
    ranks.push_back(
        std::make_unique<Child>([&, rank]() -> absl::StatusOr<std::string> {
          if (rank != 0) close(listener.fd());
          dist::ProcessGroup group(EnvironmentOf(rank, count, listener));
          const absl::Status connected = group.Connect();
          if (!connected.ok()) return connected;
          return function(group);
        }));
  }
  std::vector<std::string> said;
  absl::Status first;
  const absl::Time until = absl::Now() + limit;
  for (int rank = 0; rank < count; ++rank) {
    absl::StatusOr<std::string> text = ranks[rank]->Wait(until);
    if (!text.ok() && first.ok()) {
      first = absl::Status(text.status().code(),
                           absl::StrCat("rank ", rank, ": ",
                                        std::string(text.status().message())));
    }
    said.push_back(text.ok() ? *std::move(text) : "");
  }
  if (!first.ok()) return first;
  return said;
}

}  // namespace slipway::testing
