// The checks of what a plugin's library is, without a training.
#include <malloc.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "plugins/testing/check.h"
#include "plugins/testing/library_file.h"
#include "trainer/plan/version.h"
#include "trainer/plugin/library.h"

// The sanitizer's own count, where there is one: malloc's is then empty.
extern "C" size_t __sanitizer_get_current_allocated_bytes()
    __attribute__((weak));

namespace slipway::testing {
namespace {

constexpr char kEntry[] = "slipway_plugin_entry_v1";
constexpr char kCore[] = "libslipway_core.so";

// Functions that only one file of each library defines, as their names begin.
constexpr std::pair<std::string_view, std::string_view> kForeign[] = {
    {"_ZN7slipway6PluginC", "the core (slipway::Plugin)"},
    {"_ZN7slipway6recipe4NodeC", "the core (slipway::recipe::Node)"},
    {"_ZN7slipway2nn6ModuleC", "the core (slipway::nn::Module)"},
    {"_ZN6google10LogMessageC", "glog (google::LogMessage)"},
    {"_ZN6google17InitGoogleLogging", "glog (google::InitGoogleLogging)"},
    {"_ZN6google14FlagRegistererC", "gflags (google::FlagRegisterer)"},
    {"_ZN6gflags14FlagRegistererC", "gflags (gflags::FlagRegisterer)"},
    {"_ZN3c105ErrorC", "LibTorch (c10::Error)"},
};

// What a plugin must not call, as the names begin (whole names: kForbidden).
constexpr std::pair<std::string_view, std::string_view> kUnwanted[] = {
    {"_ZN6google14FlagRegistererC", "defines a flag"},
    {"_ZN6gflags14FlagRegistererC", "defines a flag"},
    {"_ZN6google17InitGoogleLogging", "starts glog, which the trainer does"},
};
constexpr std::string_view kForbidden[] = {"exit", "quick_exit"};

bool Contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

void FindCopies(const LibraryFile& file, std::vector<std::string>& findings) {
  for (const auto& [prefix, what] : kForeign) {
    for (const std::string& symbol : file.defined) {
      if (symbol.rfind(prefix, 0) != 0) continue;
      findings.push_back(
          absl::StrCat("it has a copy of ", std::string(what), " in it"));
      break;
    }
  }
}

void FindImports(const LibraryFile& file, std::vector<std::string>& findings) {
  for (const auto& [prefix, what] : kUnwanted) {
    for (const std::string& symbol : file.imports) {
      if (symbol.rfind(prefix, 0) != 0) continue;
      findings.push_back(absl::StrCat("it ", std::string(what)));
      break;
    }
  }
  for (const std::string_view name : kForbidden) {
    if (Contains(file.imports, name)) {
      findings.push_back(absl::StrCat("it calls ", std::string(name), "()"));
    }
  }
}

size_t BytesInUse() {
  if (__sanitizer_get_current_allocated_bytes != nullptr) {
    return __sanitizer_get_current_allocated_bytes();
  }
  return mallinfo2().uordblks;
}

// From creation to destruction, `count` times.
absl::Status LiveAndDie(const SlipwayPluginDescriptor& library,
                        const recipe::Node& config, int count) {
  for (int i = 0; i < count; ++i) {
    absl::Status status;
    void* const object = library.create(&config, &status);
    if (object == nullptr) return Found(std::string(status.message()));
    Components components;
    auto* const plugin = static_cast<Plugin*>(object);
    plugin->Register(components);
    plugin->Close();
    library.destroy(object);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ManifestAgrees(const Subject& subject) {
  const plan::Manifest& manifest = subject.manifest;
  if (!manifest.api.Contains(plan::PluginApi())) {
    return Found(absl::StrCat("api is ", manifest.api.text(),
                              ", and this trainer speaks ",
                              plan::ToString(plan::PluginApi())));
  }
  // Compares id, version and components, too.
  return Load(subject).status();
}

absl::Status BinaryIsClean(const Subject& subject) {
  const absl::StatusOr<LibraryFile> file =
      ReadLibraryFile(subject.manifest.LibraryPath());
  if (!file.ok()) return file.status();
  std::vector<std::string> findings;
  if (!Contains(file->exports, kEntry)) {
    findings.push_back(absl::StrCat("it does not export ", kEntry));
  }
  if (file->exports.size() > 1) {
    const std::string& other = file->exports[file->exports[0] == kEntry];
    findings.push_back(absl::StrCat("it exports ", file->exports.size(),
                                    " symbols, such as ", other));
  }
  if (!Contains(file->needed, kCore)) {
    findings.push_back(absl::StrCat("it does not need ", kCore));
  }
  for (const std::string& library : file->needed) {
    if (!absl::StrContains(library, '/')) continue;
    findings.push_back(absl::StrCat("it needs ", library, " by its path"));
  }
  for (const std::string& path : file->paths) {
    findings.push_back(absl::StrCat("it has the run path ", path));
  }
  FindCopies(*file, findings);
  FindImports(*file, findings);
  if (findings.empty()) return absl::OkStatus();
  return Found(absl::StrJoin(findings, "\n"));
}

absl::Status LeaksNothing(const Subject& subject) {
  constexpr int kRounds = 100;
  constexpr size_t kLeast = 16;  // the smallest piece of memory that there is
  Problems problems;
  const std::string path = subject.manifest.LibraryPath();
  const SlipwayPluginDescriptor* const library = OpenLibrary(path, problems);
  if (library == nullptr || !CheckAbi(*library, path, problems)) {
    return Found(FormatProblems(problems));
  }
  const recipe::Node config = DefaultConfig(subject.manifest);
  // What is made once, at the first use, is no leak.
  absl::Status status = LiveAndDie(*library, config, 20);
  if (!status.ok()) return status;
  int64_t grown = 0;
  // A leak grows in every series; what a table takes to grow, in one.
  for (int series = 0; series < 3; ++series) {
    const size_t before = BytesInUse();
    status = LiveAndDie(*library, config, kRounds);
    if (!status.ok()) return status;
    grown = static_cast<int64_t>(BytesInUse() - before);
    if (grown < static_cast<int64_t>(kRounds * kLeast)) return status;
  }
  return Found(absl::StrCat(
      kRounds, " objects that were created, closed and destroyed have left ",
      grown, " bytes behind, ", grown / kRounds, " each"));
}

}  // namespace slipway::testing
