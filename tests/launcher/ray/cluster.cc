#include "tests/launcher/ray/cluster.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gtest/gtest.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

std::string* address;  // NOLINT: of the cluster

class ClusterForAll : public testing::Environment {
 public:
  void SetUp() override { address = new std::string(StartCluster()); }
  void TearDown() override { StopCluster(); }
};

const auto* const kCluster =
    testing::AddGlobalTestEnvironment(new ClusterForAll);

}  // namespace

std::vector<std::string> RayFlags(const std::vector<std::string>& more) {
  std::vector<std::string> flags = {"--backend=ray",
                                    "--ray_address=" + *address, "--bind=none",
                                    "--grace=2s"};
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

Launched RunOnRay(const std::vector<std::string>& flags,
                  const std::string& script,
                  const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> all = ClusterEnvironment();
  for (const auto& [name, value] : environment) all[name] = value;
  return RunLauncher(RayFlags(flags), script, all);
}

std::vector<pid_t> ProcessesWith(const std::string& text) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (!std::isdigit(static_cast<unsigned char>(name[0]))) continue;
    std::ifstream file(entry.path() / "cmdline");
    const std::string line(std::istreambuf_iterator<char>(file), {});
    if (line.find(text) != line.npos) found.push_back(std::stoi(name));
  }
  return found;
}

}  // namespace slipway
