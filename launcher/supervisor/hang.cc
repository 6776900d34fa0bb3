#include "launcher/supervisor/hang.h"

#include <sys/syscall.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

std::string FirstLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "R", "S", "D", ...: the third field of stat, after the name in parentheses.
std::string State(const fs::path& thread) {
  const std::string stat = FirstLine(thread / "stat");
  const size_t end = stat.rfind(')');
  return end == stat.npos || end + 2 >= stat.size() ? "?"
                                                    : stat.substr(end + 2, 1);
}

struct CallName {
  int number;
  const char* name;
};

// Those in which ranks are found when they hang.
constexpr CallName kCallNames[] = {
    {SYS_futex, "futex"},
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_ppoll, "ppoll"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_connect, "connect"},
    {SYS_accept4, "accept4"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_pselect6, "pselect6"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_wait4, "wait4"},
    {SYS_fsync, "fsync"},
    {SYS_openat, "openat"},
#ifdef SYS_poll  // not on newer architectures
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
#endif
};

// "futex" of "202 0x7f12 0x80 ..."; "running" stays as it is.
std::string SystemCall(const fs::path& thread) {
  const std::string line = FirstLine(thread / "syscall");
  int number = -1;
  const std::string first = line.substr(0, line.find(' '));
  if (!absl::SimpleAtoi(first, &number)) return line.empty() ? "?" : line;
  for (const CallName& call : kCallNames) {
    if (call.number == number) return call.name;
  }
  return absl::StrCat("number ", number);
}

}  // namespace

std::string DescribeThreads(pid_t pid) {
  std::string text;
  std::error_code error;
  const fs::path tasks = absl::StrCat("/proc/", pid, "/task");
  for (const fs::directory_entry& thread :
       fs::directory_iterator(tasks, error)) {
    absl::StrAppendFormat(
        &text, "    %s  %s  waits in %s  system call %s\n",
        FirstLine(thread.path() / "comm"), State(thread.path()),
        FirstLine(thread.path() / "wchan"), SystemCall(thread.path()));
  }
  return text;
}

}  // namespace slipway::launcher
