#include "tests/e2e/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gtest/gtest.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

void Redirect(int fd, const std::string& path) {
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0 || dup2(file, fd) < 0) _exit(126);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Process::Process(const std::string& program,
                 const std::vector<std::string>& arguments,
                 const std::string& folder,
                 const std::map<std::string, std::string>& environment)
    : output_(testing::TempDir() + "/output.XXXXXX") {
  EXPECT_NE(mkdtemp(output_.data()), nullptr);
  std::vector<std::string> all = {program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const std::vector<char*> argv = Pointers(all);
  pid_ = fork();
  if (pid_ != 0) return;
  // The child.
  setenv("OMP_NUM_THREADS", "1", 1);
  unsetenv("BUILD_WORKING_DIRECTORY");
  // Under `bazel run` this process started among its runfiles, where the
  // trainer is to find its recipes and plugins; a test's environment says so.
  setenv("RUNFILES_DIR", fs::current_path().parent_path().c_str(), 0);
  for (const auto& [name, value] : environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  Redirect(STDOUT_FILENO, output_ + "/out");
  Redirect(STDERR_FILENO, output_ + "/err");
  if (chdir(folder.c_str()) != 0) _exit(126);
  execv(program.c_str(), argv.data());
  _exit(127);
}

Process::~Process() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Process::Signal(int signal) { kill(pid_, signal); }

Outcome Process::Wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  Outcome outcome;
  outcome.exit_code =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = ReadText(output_ + "/out");
  outcome.err = ReadText(output_ + "/err");
  return outcome;
}

std::string RunfilePath(const std::string& path) {
  const char* root = std::getenv("TEST_SRCDIR");
  const char* workspace = std::getenv("TEST_WORKSPACE");
  if (root == nullptr || workspace == nullptr) return fs::absolute(path);
  return fs::path(root) / workspace / path;
}

std::string TrainerPath() { return RunfilePath("trainer/trainer"); }

Outcome RunTrainer(const std::vector<std::string>& arguments,
                   const std::string& folder,
                   const std::map<std::string, std::string>& environment) {
  return Process(TrainerPath(), arguments, folder, environment).Wait();
}

std::string EmptyFolder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + "." + test->name();
  std::replace(name.begin(), name.end(), '/', '_');
  const std::string path = testing::TempDir() + "/" + name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string OnlyRun(const std::string& folder, const std::string& experiment) {
  const std::string parent = folder + "/checkpoints/" + experiment;
  std::vector<std::string> names = FilesIn(parent);
  names.erase(std::remove(names.begin(), names.end(), "latest"), names.end());
  EXPECT_EQ(names.size(), 1u) << parent;
  return names.empty() ? parent : parent + "/" + names[0];
}

}  // namespace slipway
