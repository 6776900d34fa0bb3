#include "launcher/ray/ray_backend.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "launcher/environment/environment.h"
#include "launcher/placement/placement.h"
#include "launcher/topology/topology.h"
#include "trainer/recipe/problem.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

// What flags.cc has when nothing is said: rank 0's node, then.
constexpr char kDefaultMasterAddr[] = "127.0.0.1";

// Ray waits for 40 seconds by itself.
const std::map<std::string, std::string>& ShortTimeouts() {
  static const auto* variables = new std::map<std::string, std::string>{
      {"RAY_gcs_rpc_server_connect_timeout_s", "3"},
      {"RAY_gcs_rpc_server_reconnect_timeout_s", "5"},
      {"RAY_gcs_server_request_timeout_seconds", "5"}};
  return *variables;
}

// A node for each address: see seats.h.
std::vector<NodePlan> ByAddress(const std::vector<NodePlan>& machines,
                                const std::vector<Host>& hosts) {
  std::vector<NodePlan> nodes;
  int first_rank = 0;
  for (size_t i = 0; i < machines.size(); ++i) {
    const std::vector<std::string>& addresses = hosts[i].addresses;
    const bool several = addresses.front() != addresses.back();
    for (size_t j = 0; j < addresses.size(); ++j) {
      if (j == 0 || addresses[j] != addresses[j - 1]) {
        nodes.push_back(
            {.host = machines[i].host, .environment = machines[i].environment});
        NodePlan& node = nodes.back();
        if (several) absl::StrAppend(&node.host, " (", addresses[j], ")");
        if (j == 0) node.placement.unused = machines[i].placement.unused;
        node.environment.group_rank = static_cast<int>(nodes.size()) - 1;
        node.environment.first_rank = first_rank;
        node.environment.local_world_size = 0;
      }
      NodePlan& node = nodes.back();
      RankPlacement rank = machines[i].placement.ranks[j];
      rank.rank = node.environment.local_world_size++;
      node.placement.ranks.push_back(std::move(rank));
      ++first_rank;
    }
  }
  return nodes;
}

std::string OfStatus(const Problems& problems) {
  std::string text = FormatProblems(problems);
  return std::string(
      absl::StripSuffix(absl::StripPrefix(text, "error: "), "\n"));
}

}  // namespace

RayBackend::RayBackend(RayOptions options) : options_(std::move(options)) {
  if (options_.console == nullptr) options_.console = &std::cerr;
}

RayBackend::~RayBackend() = default;

absl::StatusOr<int> RayBackend::Seats(int gpus, int advised) const {
  Problems problems;
  const int asked =
      ProcessesAsked(options_.flags, options_.training, gpus, problems);
  if (HasErrors(problems)) {
    return absl::InvalidArgumentError(OfStatus(problems));
  }
  if (asked > 0) return asked;
  if (advised > 0) return advised;
  return absl::InvalidArgumentError(
      "--num_processes=auto is for one machine; say how many ranks the Ray "
      "cluster shall run");
}

absl::Status RayBackend::EnsureCluster() {
  if (!options_.flags.ray_address.empty()) {
    absl::StatusOr<RayAddress> address =
        ParseRayAddress(options_.flags.ray_address);
    if (!address.ok()) return address.status();
    address_ = *std::move(address);
    const absl::Status status = CheckListens(address_);
    return status.ok() ? CheckLocalRaylet(address_) : status;
  }
  if (own_ != nullptr && own_->IsAlive()) return absl::OkStatus();
  own_.reset();
  const absl::StatusOr<Topology> machine = ReadTopology({});
  if (!machine.ok()) return machine.status();
  const absl::StatusOr<int> seats =
      Seats(static_cast<int>(machine->gpus.size()), AdvisedProcesses(*machine));
  if (!seats.ok()) return seats.status();
  OwnClusterRequest request = {
      .home = std::string(
          absl::StripSuffix(OutputOf({options_.driver, "--home"}), "\n"))};
  if (request.home.empty()) {
    return absl::UnavailableError(
        absl::StrCat(options_.driver, " does not say where its Ray lies"));
  }
  for (const auto& [name, amount] : options_.flags.ray_resources) {
    request.resources[name] = amount * *seats;
  }
  *options_.console << "starting a Ray cluster on this machine ...\n"
                    << std::flush;
  absl::StatusOr<std::unique_ptr<OwnCluster>> cluster =
      OwnCluster::Start(request);
  if (!cluster.ok()) return cluster.status();
  own_ = *std::move(cluster);
  address_ = own_->address();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<RayAttempt>> RayBackend::Prepare() {
  absl::Status status = EnsureCluster();
  if (!status.ok()) return status;
  const fs::path library =
      fs::path(options_.driver).parent_path() / "libagent_actor.so";
  absl::StatusOr<std::unique_ptr<Connection>> connection = Connection::Open(
      {.argv = {options_.driver,
                absl::StrCat("--address=", address_.ToString()),
                absl::StrCat("--library=", library.string())},
       .environment = Apply({.set = ShortTimeouts()},
                            own_ ? own_->environment() : CurrentEnvironment()),
       .log = log_,
       .patience = own_ ? absl::ZeroDuration() : absl::Seconds(5)});
  if (!connection.ok()) return connection.status();
  auto attempt =
      std::make_unique<RayAttempt>(*std::move(connection), options_.console);
  status = attempt->Greet();
  if (!status.ok()) return status;
  double gpus = 0;
  for (const RayNode& node : attempt->nodes()) {
    const auto it = node.total.find("GPU");
    if (it != node.total.end()) gpus += it->second;
  }
  absl::StatusOr<int> seats = Seats(
      static_cast<int>(gpus), own_ ? AdvisedProcesses(*ReadTopology({})) : 0);
  if (!seats.ok()) return seats.status();
  status = attempt->Reserve({.seats = *seats,
                             .strategy = options_.flags.ray_strategy,
                             .resources = options_.flags.ray_resources},
                            {.agent = options_.agent,
                             .look = own_ == nullptr,
                             .ship = !options_.flags.no_ship});
  if (!status.ok()) return status;
  return attempt;
}

absl::StatusOr<LaunchPlan> RayBackend::PlanFor(
    const std::vector<Host>& hosts) const {
  LaunchFlags flags = options_.flags;
  if (flags.master_addr == kDefaultMasterAddr) {
    flags.master_addr = hosts[0].address;
  }
  std::vector<NodeMachine> machines;
  for (const Host& host : hosts) {
    machines.push_back({.host = host.name,
                        .topology = host.topology,
                        .ranks = static_cast<int>(host.seats.size())});
  }
  Problems problems;
  std::optional<LaunchPlan> plan =
      MakeLaunchPlan(flags, machines, options_.training, problems);
  if (!plan) return absl::InvalidArgumentError(OfStatus(problems));
  plan->backend = "ray";
  plan->nodes = ByAddress(plan->nodes, hosts);
  plan->bundles = {.strategy = flags.ray_strategy,
                   .resources = flags.ray_resources};
  return *std::move(plan);
}

absl::StatusOr<std::unique_ptr<Ranks>> RayBackend::Start(
    const LaunchRequest& request, int attempt, LaunchPlan& plan) {
  if (!request.supervision.log_dir.empty()) {
    log_ = request.supervision.log_dir + "/ray_driver.log";
  }
  absl::StatusOr<std::unique_ptr<RayAttempt>> prepared = Prepare();
  if (!prepared.ok()) return prepared.status();
  absl::StatusOr<LaunchPlan> found = PlanFor((*prepared)->hosts());
  if (!found.ok()) return found.status();
  plan = *std::move(found);
  if (attempt == 0) *options_.console << FormatProblems(plan.problems);
  return (*prepared)->Run(request, attempt, plan);
}

absl::StatusOr<LaunchPlan> RayBackend::Plan() {
  const absl::StatusOr<std::unique_ptr<RayAttempt>> prepared = Prepare();
  if (!prepared.ok()) return prepared.status();
  return PlanFor((*prepared)->hosts());
}

absl::StatusOr<std::string> FindRayDriver(const std::string& executable,
                                          const char* variable) {
  const fs::path folder = fs::path(executable).parent_path();
  std::vector<fs::path> candidates = {folder / "ray_driver/ray_driver",
                                      folder / "ray_driver"};
  if (variable != nullptr && *variable != '\0') candidates = {variable};
  std::error_code error;
  for (const fs::path& candidate : candidates) {
    if (fs::is_regular_file(candidate, error)) return candidate.string();
  }
  return absl::NotFoundError(
      "the Ray driver is not built; build it once (it fetches 99 MB): "
      "./bazelw build //launcher/ray_driver");
}

}  // namespace slipway::launcher
