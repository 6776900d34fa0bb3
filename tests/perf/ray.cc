// What --backend=ray costs beside subprocess, on a cluster that is there
// already: from the command to the first line of both of two ranks, and a step
// of two ranks that train.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "launcher/ray/address.h"
#include "launcher/ray/own_cluster.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/process.h"
#include "tests/perf/harness.h"

namespace slipway::perf {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Environment = std::map<std::string, std::string>;

std::string DriverPath() {
  return RunfilePath("launcher/ray_driver/ray_driver");
}

std::string ScratchFolder() {
  std::string folder = fs::temp_directory_path() / "ray.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) std::exit(2);
  return folder;
}

std::unique_ptr<launcher::OwnCluster> StartCluster() {
  const std::string home = launcher::OutputOf({DriverPath(), "--home"});
  auto cluster = launcher::OwnCluster::Start(
      {.home = std::string(absl::StripSuffix(home, "\n")),
       .resources = {{"CPU", 2}}});
  if (!cluster.ok()) {
    std::cerr << cluster.status() << "\n";
    std::exit(2);
  }
  while (!launcher::CheckLocalRaylet((*cluster)->address()).ok()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return *std::move(cluster);
}

Environment EnvironmentFor(const launcher::OwnCluster& cluster) {
  Environment variables = {{"SLIPWAY_RAY_DRIVER", DriverPath()}};
  for (const std::string& entry : cluster.environment()) {
    if (!absl::StartsWith(entry, "RAY_")) continue;
    const std::vector<std::string> pair =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    variables[pair[0]] = pair[1];
  }
  return variables;
}

std::vector<std::string> With(std::vector<std::string> flags,
                              const std::vector<std::string>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// Seconds of a launch whose ranks say when they are there: the later of both,
// by the clock that this process has too.
double FirstLine(const std::vector<std::string>& flags,
                 const Environment& environment) {
  const std::string folder = ScratchFolder();
  const double start = std::chrono::duration<double>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  const Outcome outcome =
      Process(RunfilePath("launcher/launcher"),
              With(flags, {"--num_processes=2", "--log_dir=" + folder + "/logs",
                           "--", "/bin/date", "+%s.%N"}),
              folder, environment)
          .Wait();
  double last = 0;
  for (const char* name : {"rank0.out", "rank1.out"}) {
    last =
        std::max(last, std::atof(ReadText(folder + "/logs/" + name).c_str()));
  }
  fs::remove_all(folder);
  if (outcome.exit_code == 0) return last - start;
  std::cerr << outcome.err;
  return -1;
}

// Of the second epoch, per step.
double Step(const std::vector<std::string>& flags,
            const Environment& environment) {
  const std::string folder = ScratchFolder();
  const Outcome outcome =
      Process(RunfilePath("launcher/launcher"),
              With(flags,
                   {"--num_processes=2", "--log_dir=" + folder + "/logs", "--",
                    "--recipe=digits_resnet", "--run_dir=" + folder + "/run",
                    "--progress=none", "epochs=2", "batch_size=32",
                    "training_hyperparams.save_model=False",
                    "training_hyperparams.max_train_batches=20"}),
              folder, environment)
          .Wait();
  std::istringstream text(ReadText(folder + "/run/metrics.jsonl"));
  double seconds = -1;
  for (std::string line; std::getline(text, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.value("kind", "") != "epoch" || json["split"] != "train") continue;
    seconds = json["seconds"];
  }
  fs::remove_all(folder);
  if (outcome.exit_code != 0) std::cerr << outcome.err;
  return seconds / 20;
}

}  // namespace
}  // namespace slipway::perf

int main(int argc, char** argv) {
  using namespace slipway;  // NOLINT: the program's own
  perf::Benchmark benchmark("ray", "seconds");
  if (!benchmark.ParseArguments(argc, argv)) return 2;
  const auto cluster = perf::StartCluster();
  const perf::Environment environment = perf::EnvironmentFor(*cluster);
  const std::vector<std::string> ray = {
      "--backend=ray", "--ray_address=" + cluster->address().ToString()};
  benchmark.Compare({"first line, ray", "first line, subprocess",
                     [&] { return perf::FirstLine(ray, environment); },
                     [&] { return perf::FirstLine({}, environment); }, 0});
  benchmark.Compare({"step, ray", "step, subprocess",
                     [&] { return perf::Step(ray, environment); },
                     [&] { return perf::Step({}, environment); }, 1.05});
  return benchmark.Finish(std::cout);
}
