#include "trainer/join.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "trainer/dist/collectives.h"
#include "trainer/recipe/diff.h"
#include "trainer/recipe/yaml.h"

namespace slipway {
namespace {

using recipe::Node;

void Add(Problems& problems, std::string kind, std::string message,
         std::string detail, std::string hint = "") {
  Problem problem;
  problem.kind = std::move(kind);
  problem.message = std::move(message);
  problem.detail = std::move(detail);
  problem.hint = std::move(hint);
  problems.push_back(std::move(problem));
}

void AddLost(Problems& problems, const absl::Status& status) {
  Add(problems, "peer", "the ranks did not come together",
      std::string(status.message()),
      "what ended the others is in their own messages");
}

// What each rank says, or nullopt with an error.
std::optional<std::vector<std::string>> TellAll(dist::ProcessGroup& group,
                                                const std::string& own,
                                                Problems& problems) {
  auto all = dist::AllGather(group, own);
  if (all.ok()) return *std::move(all);
  AddLost(problems, all.status());
  return std::nullopt;
}

// Where two recipes differ, key by key.
std::string Changes(const std::string& first, const std::string& other) {
  Problems unreadable;
  const auto before = recipe::ParseYaml(first, "rank 0", unreadable);
  const auto after = recipe::ParseYaml(other, "another rank", unreadable);
  std::vector<std::string> lines;
  if (!before || !after) return "";
  for (const recipe::Change& change : recipe::CompareNodes(*before, *after)) {
    lines.push_back(recipe::FormatChange(change));
  }
  return absl::StrJoin(lines, "\n");
}

void CompareRecipes(const std::vector<std::string>& recipes,
                    Problems& problems) {
  for (size_t rank = 1; rank < recipes.size(); ++rank) {
    if (recipes[rank] == recipes[0]) continue;
    Add(problems, "recipe",
        absl::StrCat("rank ", rank, " has another recipe than rank 0"),
        Changes(recipes[0], recipes[rank]),
        "start all ranks with the same arguments and files");
  }
}

const Problem* FirstError(const Problems& problems) {
  for (const Problem& problem : problems) {
    if (problem.severity == Severity::kError) return &problem;
  }
  return nullptr;
}

std::string ErrorText(const Problems& problems) {
  const Problem* error = FirstError(problems);
  if (error == nullptr) return "";
  return error->detail.empty()
             ? error->message
             : absl::StrCat(error->message, ": ", error->detail);
}

// The first rank that has an error, told to those that have none.
void HearErrors(const std::vector<std::string>& errors, Problems& problems) {
  if (HasErrors(problems)) return;
  for (size_t rank = 0; rank < errors.size(); ++rank) {
    if (errors[rank].empty()) continue;
    return Add(problems, "value", absl::StrCat("rank ", rank, " cannot start"),
               errors[rank]);
  }
}

std::string PlaceText(const RunPlace& place) {
  return nlohmann::ordered_json({{"dir", place.dir},
                                 {"checkpoint", place.checkpoint},
                                 {"continues", place.continues},
                                 {"strict", place.strict},
                                 {"optimizer", place.optimizer}})
      .dump();
}

RunPlace ReadPlace(const std::string& text) {
  const auto json = nlohmann::ordered_json::parse(text);
  return {.dir = json["dir"].get<std::string>(),
          .checkpoint = json["checkpoint"].get<std::string>(),
          .continues = json["continues"].get<bool>(),
          .strict = json["strict"].get<bool>(),
          .optimizer = json["optimizer"].get<bool>()};
}

}  // namespace

bool Join(dist::ProcessGroup& group, at::Device device, const Node& recipe,
          Problems& problems) {
  if (!group.distributed()) return true;
  if (const absl::Status status = group.Connect(device); !status.ok()) {
    AddLost(problems, status);
    return false;
  }
  const auto recipes = TellAll(group, recipe.ToYaml(), problems);
  if (!recipes) return false;
  Problems found;
  CompareRecipes(*recipes, found);
  problems.insert(problems.end(), found.begin(), found.end());
  return found.empty();
}

std::optional<RunPlace> FindRunPlaceTogether(dist::ProcessGroup& group,
                                             const Node& recipe,
                                             const RunFolderRequest& folder,
                                             absl::Time now,
                                             Problems& problems) {
  Problems found;
  std::optional<RunPlace> place;
  if (group.rank() == 0) place = FindRunPlace(recipe, folder, now, found);
  if (group.distributed() && AllReady(group, found)) {
    const auto all = TellAll(group, place ? PlaceText(*place) : "", found);
    if (all) place = ReadPlace(all->front());
  }
  const bool good = !HasErrors(found);
  problems.insert(problems.end(), found.begin(), found.end());
  return good ? place : std::nullopt;
}

void CheckLaunchedPlan(const dist::ProcessGroup& group, const plan::Plan& plan,
                       Problems& problems) {
  const std::string& shown = group.environment().plan_hash;
  if (shown.empty() || shown == plan.hash) return;
  Add(problems, "value", "the plan is not the one that the launcher has shown",
      absl::StrCat("SLIPWAY_PLAN_HASH is ", shown, ", this plan's hash is ",
                   plan.hash),
      "recipes or plugins have changed meanwhile, or are others on this "
      "machine: launch again");
}

bool AllReady(dist::ProcessGroup& group, Problems& problems) {
  if (group.distributed()) {
    const auto errors = TellAll(group, ErrorText(problems), problems);
    if (errors) HearErrors(*errors, problems);
  }
  return !HasErrors(problems);
}

}  // namespace slipway
