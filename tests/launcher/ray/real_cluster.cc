// Ray itself: a head on this machine.
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "launcher/ray/address.h"
#include "launcher/ray/own_cluster.h"
#include "tests/launcher/ray/cluster.h"

namespace slipway {
namespace {

std::unique_ptr<launcher::OwnCluster>* cluster;  // NOLINT: for all tests

std::string DriverPath() {
  return RunfilePath("launcher/ray_driver/ray_driver");
}

}  // namespace

std::string StartCluster() {
  const std::string home = launcher::OutputOf({DriverPath(), "--home"});
  auto started = launcher::OwnCluster::Start(
      {.home = std::string(absl::StripSuffix(home, "\n")),
       .resources = {{"CPU", 4}}});
  if (!started.ok()) {
    ADD_FAILURE() << started.status();
    return "";
  }
  cluster = new std::unique_ptr<launcher::OwnCluster>(*std::move(started));
  // As whoever has called `ray start` finds it.
  for (int i = 0; i < 600; ++i) {
    if (launcher::CheckLocalRaylet((*cluster)->address()).ok()) break;
    usleep(100000);
  }
  return (*cluster)->address().ToString();
}

void StopCluster() { delete cluster; }

std::map<std::string, std::string> ClusterEnvironment() {
  std::map<std::string, std::string> variables = {
      {"SLIPWAY_RAY_DRIVER", DriverPath()}};
  for (const std::string& entry : (*cluster)->environment()) {
    if (absl::StartsWith(entry, "RAY_")) {
      const std::vector<std::string> pair =
          absl::StrSplit(entry, absl::MaxSplits("=", 1));
      variables[pair[0]] = pair[1];
    }
  }
  return variables;
}

}  // namespace slipway
