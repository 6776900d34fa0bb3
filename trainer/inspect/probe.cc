#include "trainer/inspect/probe.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "trainer/inspect/exports.h"
#include "trainer/inspect/in_child.h"
#include "trainer/plan/manifest.h"
#include "trainer/plugin/abi.h"
#include "trainer/plugin/library.h"
#include "trainer/plugin/load_plugins.h"

namespace slipway::inspect {
namespace {

using Json = nlohmann::ordered_json;
using Verdict = AbiField::Verdict;
namespace fs = std::filesystem;

constexpr char kDone[] = "done";
constexpr size_t kShown = 3;

const char* NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kHarmless:
      return "harmless";
    case Verdict::kOlder:
      return "older";
    case Verdict::kRefused:
      break;
  }
  return "refused";
}

std::string Dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Problem AboutLibrary(const std::string& path, Severity severity,
                     const std::string& message, std::string detail,
                     std::string hint) {
  return {.kind = "abi",
          .severity = severity,
          .message = absl::StrCat("\"", fs::path(path).filename().string(),
                                  "\" ", message),
          .detail = std::move(detail),
          .where = {{.file = path}},
          .hint = std::move(hint)};
}

// Every linker's own, unless a version script hides them.
bool IsLinkers(const std::string& name) {
  return name == "_edata" || name == "_end" || name == "__bss_start" ||
         name == "_init" || name == "_fini";
}

// What else it exports is no error: it is loaded RTLD_LOCAL. But a copy of the
// core in it would be a second core.
void CheckExports(const std::string& path,
                  const std::vector<std::string>& exports, Problems& problems) {
  std::vector<std::string> more = exports;
  std::erase_if(more, [](const std::string& name) {
    return name.starts_with("slipway_plugin_entry_v") || IsLinkers(name);
  });
  if (more.empty()) return;
  const size_t rest = more.size() - std::min(more.size(), kShown);
  more.resize(more.size() - rest);
  problems.push_back(AboutLibrary(
      path, Severity::kWarning,
      absl::StrCat("exports ", rest + more.size(), " symbols beside its entry"),
      absl::StrCat(absl::StrJoin(more, "\n"),
                   rest == 0 ? "" : absl::StrCat("\nand ", rest, " more")),
      "link it with a version script that exports the entry alone, as "
      "trainer_plugin() does, and without the core"));
}

// With the defaults of its manifest's config.
plan::PlannedPlugin ByDefault(const plan::Manifest& manifest) {
  plan::PlannedPlugin planned;
  planned.id = manifest.id;
  planned.version = manifest.version;
  planned.manifest = manifest.path;
  planned.library = manifest.LibraryPath();
  planned.hooks = manifest.hooks;
  planned.config = recipe::Node::Map();
  for (const plan::ConfigField& field : manifest.config) {
    planned.config.Set(field.key, field.fallback);
  }
  planned.where = manifest.MarkOf("id");
  return planned;
}

// The manifest beside a library, if it is that library's.
std::optional<plan::Manifest> ManifestBeside(const std::string& path,
                                             Problems& problems) {
  const fs::path beside = fs::path(path).parent_path() / "plugin.yaml";
  std::error_code error;
  if (!fs::exists(beside, error)) return std::nullopt;
  std::optional<plan::Manifest> manifest =
      plan::ReadManifest(beside.string(), problems);
  if (manifest && !fs::equivalent(manifest->LibraryPath(), path, error)) {
    return std::nullopt;
  }
  return manifest;
}

// The child's side. Before each thing that may be its last it sends all that
// was found so far.
class Probe {
 public:
  Probe(const std::string& path, const SendLine& send)
      : path_(path), send_(send) {}

  void Run() {
    Send("its static constructors");
    // Opened for good: OpenLibrary finds it open, or tells what is wrong.
    dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    Send("its entry");
    const SlipwayPluginDescriptor* library = OpenLibrary(path_, problems_);
    if (library != nullptr) Compare(*library);
    Send(kDone);
  }

 private:
  void Compare(const SlipwayPluginDescriptor& library) {
    fields_ = CompareAbi(library);
    if (!CheckAbi(library, path_, problems_)) return;
    id_ = library.id;
    version_ = library.version;
    const std::optional<plan::Manifest> manifest =
        ManifestBeside(path_, problems_);
    if (manifest) Create(*manifest);
  }

  void Create(const plan::Manifest& manifest) {
    Send("being created");
    plan::Plan plan;
    plan.plugins.push_back(ByDefault(manifest));
    Components components;
    Problems found;
    // Destroyed at once.
    created_ = !LoadPlugins(plan, {manifest}, components, found).empty();
    for (Problem& problem : found) {
      // Of the binary interface all was told.
      if (problem.kind != "abi") problems_.push_back(std::move(problem));
    }
  }

  void Send(const std::string& stage) {
    Json fields = Json::array();
    for (const AbiField& field : fields_) {
      fields.push_back({{"name", field.name},
                        {"trainer", field.trainer},
                        {"plugin", field.plugin},
                        {"matches", field.verdict != Verdict::kRefused},
                        {"verdict", NameOf(field.verdict)}});
    }
    send_(Dumped({{"stage", stage},
                  {"id", id_},
                  {"version", version_},
                  {"created", created_ ? Json(*created_) : Json()},
                  {"fields", std::move(fields)},
                  {"failed", HasErrors(problems_)},
                  {"problems", slipway::ToJson(problems_)},
                  {"text", FormatProblems(problems_)}}));
  }

  const std::string path_;
  const SendLine& send_;
  std::string id_;
  std::string version_;
  std::optional<bool> created_;
  std::vector<AbiField> fields_;
  Problems problems_;
};

// The last thing that the child could tell.
Json LastWord(const ChildEnd& end) {
  for (auto line = end.lines.rbegin(); line != end.lines.rend(); ++line) {
    Json word = Json::parse(*line, nullptr, /*allow_exceptions=*/false);
    if (word.is_object()) return word;
  }
  return Json::object();
}

Problem Ended(const std::string& path, const std::string& stage,
              const std::string& how) {
  return AboutLibrary(
      path, Severity::kError,
      absl::StrCat("does not survive ", stage.empty() ? "a start" : stage),
      absl::StrCat("the process that loaded it ", how),
      "a training that loads it would end in the same way: run this under a "
      "debugger, or ask its author");
}

}  // namespace

ProbedLibrary ProbeLibrary(const std::string& path, absl::Duration limit) {
  const std::string absolute = fs::absolute(path).lexically_normal().string();
  const ChildEnd end = RunInChild(
      [&](const SendLine& send) { Probe(absolute, send).Run(); }, limit);
  const Json word = LastWord(end);
  Problems more;
  const std::string stage = word.value("stage", "");
  if (stage != kDone) {
    more.push_back(
        Ended(absolute, stage, end.how.empty() ? "told nothing" : end.how));
  }
  ProbedLibrary probed;
  probed.matches = !word.value("failed", false) && !HasErrors(more);
  const auto exports = ExportedSymbols(absolute);
  // Of one that is no plugin, or cannot be one here, that would be noise.
  if (exports.ok() && probed.matches) CheckExports(absolute, *exports, more);
  probed.library = absolute;
  Json problems = word.value("problems", Json::array());
  for (const Problem& problem : more) {
    problems.push_back(Json(slipway::ToJson(problem)));
  }
  probed.problems = word.value("text", "") + FormatProblems(more);
  probed.json =
      Dumped({{"schema", 1},
              {"library", absolute},
              {"id", word.value("id", "")},
              {"version", word.value("version", "")},
              {"matches", probed.matches},
              {"created", word.contains("created") ? word["created"] : Json()},
              {"fields", word.value("fields", Json::array())},
              {"exports", exports.ok() ? Json(*exports) : Json::array()},
              {"problems", std::move(problems)}});
  return probed;
}

std::string FormatProbe(const ProbedLibrary& probed) {
  const Json document = Json::parse(probed.json);
  std::string text = probed.library + "\n";
  if (!document["id"].get<std::string>().empty()) {
    absl::StrAppend(&text, "  plugin \"", document["id"].get<std::string>(),
                    "\", version ", document["version"].get<std::string>(),
                    "\n");
  }
  if (!document["fields"].empty()) {
    absl::StrAppendFormat(&text, "  %-24s %-18s %-18s\n", "", "trainer",
                          "plugin");
  }
  for (const Json& field : document["fields"]) {
    absl::StrAppendFormat(
        &text, "  %-24s %-18s %-18s %s\n", field["name"].get<std::string>(),
        field["trainer"].get<std::string>(), field["plugin"].get<std::string>(),
        field["verdict"].get<std::string>());
  }
  const Json& created = document["created"];
  absl::StrAppend(&text, "  ",
                  probed.matches ? "fits this trainer" : "does not fit",
                  created.is_boolean() && created.get<bool>()
                      ? ", and was created with its defaults"
                      : "",
                  "\n");
  return text;
}

}  // namespace slipway::inspect
