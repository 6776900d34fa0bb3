#include "trainer/plan/require.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/plan/draft.h"

namespace slipway::plan {
namespace {

bool WillDo(const Relation& relation, const Version& version) {
  return !relation.version || relation.version->Contains(version);
}

// "amp ^1.0", or "amp" for any version.
std::string Wanted(const Relation& relation) {
  if (!relation.version) return relation.with;
  return absl::StrCat(relation.with, " ", relation.version->text());
}

Problem Requirement(const Chosen& plugin, const Relation& relation) {
  return {.kind = "requires",
          .message = absl::StrCat("plugin \"", plugin.id(), "\" requires ",
                                  Wanted(relation)),
          .detail = relation.reason,
          .where = {plugin.planned.where, relation.mark},
          .hint = relation.fix,
          .plugins = {plugin.id()}};
}

void ComplainOfVersion(const Chosen& plugin, const Relation& relation,
                       const Manifest& found, Draft& draft) {
  Problem problem = Requirement(plugin, relation);
  problem.kind = "version";
  absl::StrAppend(&problem.message, ", found ", found.id, " ",
                  ToString(found.version));
  problem.where.push_back(found.MarkOf("version"));
  problem.plugins.push_back(found.id);
  draft.problems.push_back(std::move(problem));
}

// The plugins that are not in the plan, but would meet the requirement.
std::vector<const Manifest*> CandidatesFor(const Relation& relation,
                                           const Draft& draft) {
  const Manifest* const named = draft.FindManifest(relation.with);
  if (named != nullptr) return {named};
  std::vector<const Manifest*> providers;
  for (const Manifest* manifest : draft.manifests) {
    if (manifest->IsOrProvides(relation.with)) providers.push_back(manifest);
  }
  return providers;
}

void ComplainOfAbsence(const Chosen& plugin, const Relation& relation,
                       const std::vector<const Manifest*>& candidates,
                       Draft& draft) {
  Problem problem = Requirement(plugin, relation);
  if (candidates.empty()) {
    const std::vector<std::string> ids = draft.Ids();
    absl::StrAppend(&problem.message, ", which is no plugin that was found");
    problem.detail = WhatThereIs(ids, draft.searched);
    if (problem.hint.empty()) problem.hint = DidYouMean(relation.with, ids);
    draft.problems.push_back(std::move(problem));
    return;
  }
  std::vector<std::string> ways;
  for (const Manifest* candidate : candidates) {
    ways.push_back(absl::StrCat("plugins.", candidate->id, ": {}"));
  }
  absl::StrAppend(&problem.message, ", which is not in the plan");
  if (problem.hint.empty()) {
    problem.hint = absl::StrCat("add ", absl::StrJoin(ways, " or "),
                                ", or plugins.auto_require: true");
  }
  draft.problems.push_back(std::move(problem));
}

void AddRequired(const Chosen& plugin, const Relation& relation,
                 const Manifest& required, Draft& draft) {
  Problem note = Requirement(plugin, relation);
  note.severity = Severity::kNote;
  absl::StrAppend(&note.message, ", which was added to the plan");
  draft.problems.push_back(std::move(note));
  draft.Add(required, Because::kRequires, relation.mark);
}

void Require(const Chosen& plugin, const Relation& relation, Draft& draft) {
  const std::vector<const Chosen*> present =
      draft.Others(plugin, relation.with);
  const auto will_do = [&relation](const Chosen* other) {
    return WillDo(relation, other->manifest.version);
  };
  if (std::any_of(present.begin(), present.end(), will_do)) return;
  if (!present.empty()) {
    ComplainOfVersion(plugin, relation, present[0]->manifest, draft);
    return;
  }
  const std::vector<const Manifest*> candidates =
      CandidatesFor(relation, draft);
  const bool may_add = draft.section.auto_require && candidates.size() == 1 &&
                       !draft.section.SwitchesOff(candidates[0]->id);
  if (!may_add) {
    ComplainOfAbsence(plugin, relation, candidates, draft);
  } else if (!WillDo(relation, candidates[0]->version)) {
    ComplainOfVersion(plugin, relation, *candidates[0], draft);
  } else {
    AddRequired(plugin, relation, *candidates[0], draft);
  }
}

void CheckVersion(const Chosen& plugin, Draft& draft) {
  const Manifest& manifest = plugin.manifest;
  for (const SectionEntry* entry : draft.section.Of(manifest.id)) {
    if (!entry->version || entry->version->Contains(manifest.version)) continue;
    draft.problems.push_back(
        {.kind = "version",
         .message = absl::StrCat("plugin \"", manifest.id, "\" is version ",
                                 ToString(manifest.version), ", not ",
                                 entry->version->text()),
         .where = {entry->version_mark, manifest.MarkOf("version")},
         .hint = "install another version, or change what the recipe wants",
         .plugins = {manifest.id}});
  }
  if (manifest.api.Contains(PluginApi())) return;
  draft.problems.push_back(
      {.kind = "version",
       .message =
           absl::StrCat("plugin \"", manifest.id, "\" is made for plugin API ",
                        manifest.api.text(), ", not ", ToString(PluginApi())),
       .where = {plugin.planned.where, manifest.MarkOf("api")},
       .hint = "install a version of it for this Slipway",
       .plugins = {manifest.id}});
}

void CheckStatus(const Chosen& plugin, Draft& draft) {
  const Status status = plugin.manifest.status;
  if (status == Status::kStable || status == Status::kAlpha) return;
  const bool planned = status == Status::kPlanned;
  draft.problems.push_back(
      {.kind = "status",
       .severity = planned ? Severity::kNote : Severity::kWarning,
       .message = absl::StrCat(
           "plugin \"", plugin.id(),
           planned ? "\" is planned: it can be planned with, but not run yet"
                   : "\" is deprecated"),
       .where = {plugin.planned.where, plugin.manifest.MarkOf("status")},
       .plugins = {plugin.id()}});
}

// Of each sort that a manifest names, one must be here.
void CheckPlatform(const Chosen& plugin, Draft& draft) {
  const Environment& here = draft.environment;
  const std::vector<std::string>& platforms = plugin.manifest.platforms;
  const auto named = [&platforms](std::string_view name) {
    return std::find(platforms.begin(), platforms.end(), name) !=
           platforms.end();
  };
  const bool device = named("cpu") || named("cuda");
  const bool arch = named("x86_64") || named("aarch64");
  const bool fits = (!device || named(here.device)) &&
                    (!named("linux") || here.os == "linux") &&
                    (!arch || named(here.arch));
  if (fits) return;
  draft.problems.push_back(
      {.kind = "requires",
       .message = absl::StrCat("plugin \"", plugin.id(), "\" cannot run here"),
       .detail = absl::StrCat("it is for ", absl::StrJoin(platforms, ", "),
                              "; here are ", here.device, ", ", here.os, ", ",
                              here.arch),
       .where = {plugin.planned.where, plugin.manifest.MarkOf("platforms")},
       .plugins = {plugin.id()}});
}

}  // namespace

void RequirePlugins(Draft& draft) {
  // What is added has requirements of its own, so the end moves.
  for (size_t i = 0; i < draft.chosen.size(); ++i) {
    const Chosen& plugin = draft.chosen[i];
    for (const Relation& relation : plugin.manifest.requires_) {
      if (draft.Holds(relation.when)) Require(plugin, relation, draft);
    }
  }
}

void CheckPlugins(Draft& draft) {
  for (const Chosen& plugin : draft.chosen) {
    CheckVersion(plugin, draft);
    CheckPlatform(plugin, draft);
    CheckStatus(plugin, draft);
  }
}

}  // namespace slipway::plan
