#include "launcher/environment/environment.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

// OpenMP binding narrows the main thread to one CPU, and whatever it forks or
// starts later inherits that.
constexpr const char* kBindingVariables[] = {
    "GOMP_CPU_AFFINITY", "KMP_AFFINITY",        "KMP_BLOCKTIME",
    "KMP_HW_SUBSET",     "KMP_LIBRARY",         "KMP_PLACE_THREADS",
    "KMP_SETTINGS",      "KMP_TOPOLOGY_METHOD", "OMP_PLACES",
    "OMP_PROC_BIND"};

// What a launch around this one may have set, and would be wrong in a rank.
constexpr const char* kOuterLaunch[] = {"MASTER_PORT",
                                        "SLIPWAY_HEARTBEAT_FD",
                                        "SLIPWAY_PLAN_HASH",
                                        "SLIPWAY_SPAWN",
                                        "SLIPWAY_STORE_FD",
                                        "TORCHELASTIC_RESTART_COUNT",
                                        "TORCHELASTIC_USE_AGENT_STORE"};

struct AllocatorLibrary {
  Allocator allocator;
  const char* file;
  const char* package;
};

constexpr AllocatorLibrary kAllocators[] = {
    {Allocator::kJemalloc, "libjemalloc.so.2", "libjemalloc2"},
    {Allocator::kTcmalloc, "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
};

constexpr const char* kLibraryFolders[] = {
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
    "/usr/local/lib", "/usr/lib"};

// Measured on a convolution's training step: 15 % less CPU time than glibc's
// defaults, and a third fewer page faults.
void TuneGlibc(std::map<std::string, std::string>& set) {
  set["MALLOC_MMAP_THRESHOLD_"] = "1073741824";
  set["MALLOC_TRIM_THRESHOLD_"] = "-1";
  set["MALLOC_TOP_PAD_"] = "268435456";
}

bool IsAllocator(absl::string_view library) {
  return absl::StrContains(library, "libjemalloc.so") ||
         absl::StrContains(library, "libtcmalloc");
}

// `library`, then what the user preloads; the list is split as the loader does.
std::string Preload(const std::string& library, const std::string& users) {
  std::string preload = library;
  for (absl::string_view other :
       absl::StrSplit(users, absl::ByAnyChar(": "), absl::SkipEmpty())) {
    if (!IsAllocator(other)) absl::StrAppend(&preload, ":", other);
  }
  return preload;
}

void SetAllocator(const EnvironmentRequest& request,
                  std::map<std::string, std::string>& set) {
  if (request.allocator == Allocator::kTuned) TuneGlibc(set);
  if (request.allocator == Allocator::kJemalloc) {
    set["MALLOC_CONF"] =
        "oversize_threshold:1,background_thread:false,metadata_thp:always,"
        "dirty_decay_ms:-1,muzzy_decay_ms:-1";
  }
  if (request.allocator_library.empty()) return;
  set["LD_PRELOAD"] = Preload(request.allocator_library, request.user_preload);
}

std::string NameOf(const std::string& entry) {
  return entry.substr(0, entry.find('='));
}

// Inside single quotes a shell changes nothing.
std::string Quoted(const std::string& value) {
  return absl::StrCat("'", absl::StrReplaceAll(value, {{"'", "'\\''"}}), "'");
}

}  // namespace

EnvironmentPlan RankEnvironment(const EnvironmentRequest& request,
                                const RankPlacement& rank) {
  EnvironmentPlan plan;
  plan.set = {
      {"RANK", absl::StrCat(request.first_rank + rank.rank)},
      {"LOCAL_RANK", absl::StrCat(rank.rank)},
      {"WORLD_SIZE", absl::StrCat(request.world_size)},
      {"LOCAL_WORLD_SIZE", absl::StrCat(request.local_world_size)},
      {"GROUP_RANK", absl::StrCat(request.group_rank)},
      {"MASTER_ADDR", request.master_addr},
      {"OMP_NUM_THREADS", absl::StrCat(rank.threads)},
      {"SLIPWAY_CPUS", rank.cpus.ToString()},
      {"SLIPWAY_RESTART", absl::StrCat(request.restart)},
      {"SLIPWAY_AUTO_LR", request.auto_lr ? "1" : "0"},
  };
  if (request.master_port != 0) {
    plan.set["MASTER_PORT"] = absl::StrCat(request.master_port);
  }
  if (!request.plan_hash.empty()) {
    plan.set["SLIPWAY_PLAN_HASH"] = request.plan_hash;
  }
  if (request.shared_cores) plan.set["OMP_WAIT_POLICY"] = "passive";
  SetAllocator(request, plan.set);
  plan.unset.assign(std::begin(kBindingVariables), std::end(kBindingVariables));
  plan.unset.insert(plan.unset.end(), std::begin(kOuterLaunch),
                    std::end(kOuterLaunch));
  return plan;
}

EnvironmentPlan ShellEnvironment(const EnvironmentRequest& request,
                                 int threads) {
  EnvironmentPlan plan;
  plan.set["OMP_NUM_THREADS"] = absl::StrCat(threads);
  SetAllocator(request, plan.set);
  plan.unset.assign(std::begin(kBindingVariables), std::end(kBindingVariables));
  return plan;
}

std::string FindAllocator(Allocator allocator, Problems& problems) {
  for (const AllocatorLibrary& library : kAllocators) {
    if (library.allocator != allocator) continue;
    for (const char* folder : kLibraryFolders) {
      const std::string path = absl::StrCat(folder, "/", library.file);
      if (std::filesystem::exists(path)) return path;
    }
    problems.push_back(
        {.kind = "not_found",
         .message = absl::StrCat("no ", library.file, " on this machine"),
         .hint = absl::StrCat("install it (apt-get install ", library.package,
                              "), or use --allocator=tuned")});
  }
  return "";
}

std::vector<std::string> Apply(const EnvironmentPlan& plan,
                               const std::vector<std::string>& base) {
  std::set<std::string> replaced(plan.unset.begin(), plan.unset.end());
  for (const auto& [name, value] : plan.set) replaced.insert(name);
  std::vector<std::string> result;
  for (const std::string& entry : base) {
    if (replaced.count(NameOf(entry)) == 0) result.push_back(entry);
  }
  for (const auto& [name, value] : plan.set) {
    result.push_back(absl::StrCat(name, "=", value));
  }
  return result;
}

std::vector<std::string> CurrentEnvironment() {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    result.emplace_back(*entry);
  }
  return result;
}

std::string FormatForShell(const EnvironmentPlan& plan) {
  std::string text;
  for (const std::string& name : plan.unset) {
    absl::StrAppend(&text, "unset ", name, "\n");
  }
  for (const auto& [name, value] : plan.set) {
    absl::StrAppend(&text, "export ", name, "=", Quoted(value), "\n");
  }
  return text;
}

nlohmann::ordered_json ToJson(const EnvironmentPlan& plan) {
  nlohmann::ordered_json set = nlohmann::ordered_json::object();
  for (const auto& [name, value] : plan.set) set[name] = value;
  return {{"schema", 1}, {"set", std::move(set)}, {"unset", plan.unset}};
}

}  // namespace slipway::launcher
