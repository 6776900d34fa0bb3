#include "trainer/plugin/library.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "trainer/plugin/abi.h"
#include "trainer/plugin/exception.h"

namespace slipway {
namespace {

using Entry = const SlipwayPluginDescriptor* (*)();

constexpr char kEntryPrefix[] = "slipway_plugin_entry_v";
constexpr int kHighestApi = 99;
constexpr char kRebuild[] =
    "rebuild it with the compiler, the libraries and the headers of this "
    "trainer";

std::string Quoted(const std::string& path) {
  return absl::StrCat("\"", std::filesystem::path(path).filename().string(),
                      "\"");
}

Problem AbiProblem(const std::string& path, std::string_view message,
                   std::string detail, std::string hint) {
  return {.kind = "abi",
          .message = absl::StrCat(Quoted(path), " ", std::string(message)),
          .detail = std::move(detail),
          .where = {{.file = path}},
          .hint = std::move(hint)};
}

// "undefined symbol: _ZN7slipway3FooEv" with the name as it was written.
std::string Demangled(const std::string& text) {
  const size_t begin = text.find("_Z");
  if (begin == std::string::npos) return text;
  const size_t end = text.find_first_of(" ,\t", begin);
  int unused = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(text.substr(begin, end - begin).c_str(), nullptr,
                          nullptr, &unused),
      &std::free);
  if (name == nullptr) return text;
  return absl::StrCat(text.substr(0, begin), name.get(),
                      end == std::string::npos ? "" : text.substr(end));
}

Problem NotLoaded(const std::string& path, std::string reason) {
  // The loader's text starts with the path, which the problem has already.
  if (reason.rfind(path + ": ", 0) == 0) reason.erase(0, path.size() + 2);
  const bool lacks_symbol = reason.find("symbol") != std::string::npos;
  return AbiProblem(path, "cannot be loaded", Demangled(reason),
                    lacks_symbol ? kRebuild
                                 : "name a shared library for this machine in "
                                   "the manifest's \"library\"");
}

std::optional<int> OtherApi(void* library) {
  for (int api = 1; api <= kHighestApi; ++api) {
    if (dlsym(library, absl::StrCat(kEntryPrefix, api).c_str())) return api;
  }
  return std::nullopt;
}

Problem NoEntry(void* library, const std::string& path,
                const std::string& symbol) {
  if (const std::optional<int> api = OtherApi(library)) {
    return AbiProblem(path,
                      absl::StrCat("was built for plugin API ", *api,
                                   ", this trainer speaks ", kSlipwayApiMajor),
                      "", "take a version of the plugin for this trainer");
  }
  return AbiProblem(path, "is no plugin", absl::StrCat("it has no ", symbol),
                    "its source says SLIPWAY_PLUGIN(id, version, Class)");
}

// Empty if the descriptor can be read on.
std::string WrongWith(const SlipwayPluginDescriptor* plugin) {
  if (plugin == nullptr) return "its entry returns null";
  if (plugin->magic != kSlipwayPluginMagic) {
    return absl::StrCat("its entry returns something that starts with 0x",
                        absl::Hex(plugin->magic, absl::kZeroPad8), " where 0x",
                        absl::Hex(kSlipwayPluginMagic), " was expected");
  }
  if (plugin->struct_size < sizeof(SlipwayPluginDescriptor)) {
    return absl::StrCat("its descriptor has ", plugin->struct_size,
                        " bytes, at least ", sizeof(SlipwayPluginDescriptor),
                        " were expected");
  }
  const bool complete = plugin->abi != nullptr && plugin->id != nullptr &&
                        plugin->version != nullptr &&
                        plugin->create != nullptr && plugin->destroy != nullptr;
  return complete ? "" : "its descriptor has null fields";
}

const SlipwayPluginDescriptor* CallEntry(void* entry, std::string& wrong) {
  try {
    const SlipwayPluginDescriptor* plugin = reinterpret_cast<Entry>(entry)();
    wrong = WrongWith(plugin);
    return wrong.empty() ? plugin : nullptr;
  } catch (...) {
    wrong =
        absl::StrCat("its entry threw: ", CurrentExceptionStatus().message());
    return nullptr;
  }
}

}  // namespace

const SlipwayPluginDescriptor* OpenLibrary(const std::string& path,
                                           Problems& problems) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    problems.push_back({.kind = "not_found",
                        .message = absl::StrCat("no library ", Quoted(path)),
                        .where = {{.file = path}},
                        .hint = "build the plugin, or correct \"library\" in "
                                "its manifest"});
    return nullptr;
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    problems.push_back(NotLoaded(path, dlerror()));
    return nullptr;
  }
  const std::string symbol = absl::StrCat(kEntryPrefix, kSlipwayApiMajor);
  void* entry = dlsym(library, symbol.c_str());
  if (entry == nullptr) {
    problems.push_back(NoEntry(library, path, symbol));
    return nullptr;
  }
  std::string wrong;
  const SlipwayPluginDescriptor* plugin = CallEntry(entry, wrong);
  if (plugin == nullptr) {
    problems.push_back(AbiProblem(path, "is no plugin", wrong, kRebuild));
  }
  return plugin;
}

bool CheckAbi(const SlipwayPluginDescriptor& plugin, const std::string& path,
              Problems& problems) {
  const std::vector<AbiField> fields = CompareAbi(plugin);
  const std::string refused = FormatAbi(fields, AbiField::Verdict::kRefused);
  if (!refused.empty()) {
    problems.push_back(
        AbiProblem(path, "was built for another ABI", refused, kRebuild));
    return false;
  }
  const std::string older = FormatAbi(fields, AbiField::Verdict::kOlder);
  if (!older.empty()) {
    Problem note = AbiProblem(path, "was built with older tools", older, "");
    note.severity = Severity::kNote;
    problems.push_back(std::move(note));
  }
  return true;
}

}  // namespace slipway
