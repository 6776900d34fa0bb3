#include "tests/launcher/launch_program.h"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string MakeFolder() {
  std::string path = testing::TempDir() + "/launch.XXXXXX";
  EXPECT_NE(mkdtemp(path.data()), nullptr);
  return path;
}

void Rest() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

}  // namespace

std::string LauncherPath() { return RunfilePath("launcher/launcher_alone"); }

Launch::Launch(const std::vector<std::string>& flags, const std::string& script,
               const std::map<std::string, std::string>& environment)
    : logs_(MakeFolder()) {
  std::vector<std::string> arguments = flags;
  arguments.push_back("--log_dir=" + logs_);
  for (const std::string& word :
       {std::string("--"), std::string("/bin/sh"), std::string("-c"), script}) {
    arguments.push_back(word);
  }
  process_ =
      std::make_unique<Process>(LauncherPath(), arguments, logs_, environment);
}

Launched Launch::Wait() {
  const Outcome outcome = process_->Wait();
  Launched launched = {outcome.exit_code,
                       outcome.out,
                       outcome.err,
                       ReadText(logs_ + "/rank0.out"),
                       {}};
  std::ifstream report(logs_ + "/launch_report.json");
  if (report) launched.report = json::parse(report);
  return launched;
}

Launched RunLauncher(const std::vector<std::string>& flags,
                     const std::string& script,
                     const std::map<std::string, std::string>& environment) {
  return Launch(flags, script, environment).Wait();
}

Outcome AskLauncher(const std::vector<std::string>& arguments,
                    const std::map<std::string, std::string>& environment) {
  return Process(LauncherPath(), arguments, MakeFolder(), environment).Wait();
}

std::string FreshFile(const std::string& name) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string path =
      absl::StrCat(testing::TempDir(), "/", test->name(), ".", name);
  fs::remove(path);
  return path;
}

int NumberIn(const std::string& path) {
  int number = 0;
  for (int i = 0; i < 1000; ++i) {
    if (absl::SimpleAtoi(ReadText(path), &number)) return number;
    Rest();
  }
  return 0;
}

bool IsAlive(pid_t pid) {
  const std::string stat = ReadText(absl::StrCat("/proc/", pid, "/stat"));
  const size_t end = stat.rfind(')');
  return end != stat.npos && stat[end + 2] != 'Z';
}

bool Dies(pid_t pid) {
  for (int i = 0; i < 500 && IsAlive(pid); ++i) Rest();
  return !IsAlive(pid);
}

int UsableCores() {
  const Outcome topo = AskLauncher({"topo", "--format=json"});
  const json machine = json::parse(topo.out);
  int cores = 0;
  for (const json& package : machine["packages"]) {
    for (const json& node : package["numa_nodes"]) {
      for (const json& cache : node["l3"]) {
        for (const json& core : cache["cores"]) {
          bool usable = false;
          for (const json& cpu : core["cpus"]) {
            for (const json& allowed : machine["allowed_cpus"]) {
              usable = usable || cpu == allowed;
            }
          }
          cores += usable ? 1 : 0;
        }
      }
    }
  }
  return cores;
}

}  // namespace slipway
