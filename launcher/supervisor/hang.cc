#include "launcher/supervisor/hang.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

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

}  // namespace

std::string DescribeThreads(pid_t pid) {
  std::string text;
  std::error_code error;
  const fs::path tasks = absl::StrCat("/proc/", pid, "/task");
  for (const fs::directory_entry& thread :
       fs::directory_iterator(tasks, error)) {
    absl::StrAppendFormat(&text, "    %s  %s  waits in %s  system call %s\n",
                          FirstLine(thread.path() / "comm"),
                          State(thread.path()),
                          FirstLine(thread.path() / "wchan"),
                          FirstLine(thread.path() / "syscall"));
  }
  return text;
}

}  // namespace slipway::launcher
