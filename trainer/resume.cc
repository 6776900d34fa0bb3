#include "trainer/resume.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "trainer/checkpoint/previous.h"
#include "trainer/json_node.h"
#include "trainer/recipe/diff.h"
#include "trainer/recipe/params.h"
#include "trainer/recipe/yaml.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;
using recipe::Change;
using recipe::Node;

void Add(Problems& problems, Severity severity, std::string message,
         std::string detail, Mark where = {}, std::string hint = "") {
  Problem problem;
  problem.kind = "checkpoint";
  problem.severity = severity;
  problem.message = std::move(message);
  problem.detail = std::move(detail);
  if (!where.file.empty()) problem.where = {std::move(where)};
  problem.hint = std::move(hint);
  problems.push_back(std::move(problem));
}

// --- where -------------------------------------------------------------------

class Search {
 public:
  Search(const Node& section, const RunFolderRequest& folder, absl::Time now,
         Problems& problems)
      : params_(section, "training_hyperparams", problems),
        folder_(folder),
        now_(now),
        problems_(problems) {}

  std::optional<RunPlace> Run() {
    const size_t before = problems_.size();
    place_.strict = params_.Bool("resume_strict_load", true);
    place_.optimizer = params_.Bool("load_opt_params", true);
    name_ = params_.Text("ckpt_name", "ckpt_latest.pth");
    place_.dir = RunFolderPath(folder_, now_);
    if (params_.Bool("resume_from_remote_sg_logger", false)) {
      Fail("resume_from_remote_sg_logger",
           "there is no remote logger to get a checkpoint from",
           "download it, and name it: training_hyperparams.resume_path=FILE");
    } else if (params_.Has("resume_path")) {
      TakePath(params_.Text("resume_path"));
    } else if (params_.Has("run_id")) {
      TakeRun(params_.Text("run_id"));
    } else if (params_.Bool("resume", false)) {
      TakeNewest();
    }
    if (HasErrors({problems_.begin() + before, problems_.end()})) {
      return std::nullopt;
    }
    return place_;
  }

 private:
  void Fail(std::string_view key, std::string message, std::string hint) {
    params_.Fail(key, std::move(message), std::move(hint));
  }

  void TakePath(const std::string& path) {
    if (params_.Has("run_id")) {
      return Fail("run_id", "run_id and resume_path name two checkpoints",
                  "keep one of them");
    }
    std::error_code error;
    const fs::path file = fs::absolute(path, error).lexically_normal();
    if (!fs::is_regular_file(file, error)) {
      return Fail("resume_path",
                  absl::StrCat("there is no checkpoint ", file.string()),
                  "name a file (.pth)");
    }
    place_.checkpoint = file.string();
    place_.continues = file.parent_path() == fs::path(place_.dir);
  }

  void TakeRun(const std::string& id) {
    if (!folder_.run_dir.empty()) {
      return Fail("run_id", "run_id and --run_dir name two folders",
                  "keep one of them");
    }
    const std::vector<std::string> runs = RunsWith(folder_, name_);
    if (std::find(runs.begin(), runs.end(), id) == runs.end()) {
      std::string hint = DidYouMean(id, runs);
      if (hint.empty() && !runs.empty()) hint = "the newest is " + runs.back();
      return Fail("run_id",
                  absl::StrCat("no run \"", id, "\" with ", name_, " in ",
                               ExperimentFolder(folder_)),
                  std::move(hint));
    }
    Continue(absl::StrCat(ExperimentFolder(folder_), "/", id));
  }

  void TakeNewest() {
    if (folder_.run_dir.empty()) {
      const std::vector<std::string> runs = RunsWith(folder_, name_);
      if (!runs.empty()) {
        return Continue(
            absl::StrCat(ExperimentFolder(folder_), "/", runs.back()));
      }
    } else if (HoldsCheckpoint(place_.dir, name_)) {
      return Continue(place_.dir);
    }
    // What was killed before its first checkpoint starts over in its folder.
    place_.continues = !folder_.run_dir.empty();
    const Node* resume = params_.Raw("resume");
    Add(problems_, Severity::kWarning,
        "nothing to resume yet: the training starts from the beginning",
        absl::StrCat(
            "no ", name_, " in ",
            folder_.run_dir.empty() ? ExperimentFolder(folder_) : place_.dir),
        resume != nullptr ? resume->mark() : Mark());
  }

  void Continue(std::string dir) {
    place_.dir = std::move(dir);
    place_.checkpoint = absl::StrCat(place_.dir, "/", name_);
    place_.continues = true;
  }

  recipe::Params params_;
  const RunFolderRequest& folder_;
  const absl::Time now_;
  Problems& problems_;
  RunPlace place_;
  std::string name_;
};

// --- what changed ------------------------------------------------------------

// Keys that say how to resume: they differ in every resume.
bool SaysHow(const std::string& key) {
  static const auto* const kKeys =
      new std::set<std::string>{"resume",
                                "training_hyperparams.resume",
                                "training_hyperparams.run_id",
                                "training_hyperparams.resume_path",
                                "training_hyperparams.resume_strict_load",
                                "training_hyperparams.load_opt_params"};
  return kKeys->count(key) > 0;
}

std::vector<Change> RecipeChanges(const Checkpoint& checkpoint,
                                  const Node& recipe) {
  Problems unreadable;
  const std::optional<Node> before = recipe::ParseYaml(
      checkpoint.recipe_yaml, "the checkpoint's recipe", unreadable);
  if (checkpoint.recipe_yaml.empty() || !before) return {};
  std::vector<Change> changes = recipe::CompareNodes(*before, recipe);
  std::erase_if(changes, [](const Change& c) { return SaysHow(c.key); });
  return changes;
}

// The plan as a map from ids to what counts of each plugin, and the order.
Node PlanNode(const nlohmann::ordered_json& plan) {
  nlohmann::ordered_json node = {{"plugins", nlohmann::ordered_json::object()},
                                 {"order", plan.value("order", node)}};
  for (const auto& plugin : plan.value("plugins", node)) {
    node["plugins"][plugin.value("id", "")] = {
        {"version", plugin.value("version", "")},
        {"config", plugin.value("config", nlohmann::ordered_json())}};
  }
  return NodeFromJson(node, {});
}

// That of the run which wrote the checkpoint, if it is still there.
std::optional<nlohmann::ordered_json> PlanBeside(const RunPlace& place,
                                                 const std::string& hash) {
  std::ifstream in(fs::path(place.checkpoint).parent_path() / "plan.json");
  auto plan = nlohmann::ordered_json::parse(in, nullptr,
                                            /*allow_exceptions=*/false);
  if (!plan.is_object() || plan.value("hash", "") != hash) return std::nullopt;
  return plan;
}

std::vector<Change> PlanChanges(const RunPlace& place,
                                const Checkpoint& checkpoint,
                                const plan::Plan& plan) {
  const auto before = PlanBeside(place, checkpoint.plan_hash);
  if (before) {
    return recipe::CompareNodes(PlanNode(*before), PlanNode(ToJson(plan)));
  }
  return {{.key = "hash",
           .before = Node::String(checkpoint.plan_hash),
           .after = Node::String(plan.hash)}};
}

void Tell(const char* what, const std::vector<Change>& changes,
          nlohmann::ordered_json& detail, Problems& problems) {
  if (changes.empty()) return;
  std::vector<std::string> lines;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Change& change : changes) {
    lines.push_back(FormatChange(change));
    list.push_back(ToJson(change));
  }
  detail[what] = std::move(list);
  Add(problems, Severity::kNote,
      absl::StrCat("the ", what, " is not the checkpoint's"),
      absl::StrJoin(lines, "\n"));
}

nlohmann::ordered_json TellChanges(const RunPlace& place,
                                   const Checkpoint& checkpoint,
                                   const Node& recipe, const plan::Plan& plan,
                                   Problems& problems) {
  nlohmann::ordered_json detail = nlohmann::ordered_json::object();
  if (!checkpoint.from_slipway) return detail;
  Tell("recipe", RecipeChanges(checkpoint, recipe), detail, problems);
  if (checkpoint.plan_hash != plan.hash) {
    Tell("plan", PlanChanges(place, checkpoint, plan), detail, problems);
  }
  return detail;
}

}  // namespace

std::optional<RunPlace> FindRunPlace(const Node& recipe,
                                     const RunFolderRequest& folder,
                                     absl::Time now, Problems& problems) {
  static const auto* const kNone = new Node();
  const Node* section = recipe.FindPath("training_hyperparams");
  return Search(section != nullptr ? *section : *kNone, folder, now, problems)
      .Run();
}

bool TakeUp(const RunPlace& place, const Node& recipe, const plan::Plan& plan,
            loop::Trainer& trainer, Problems& problems) {
  if (place.checkpoint.empty()) return true;
  absl::StatusOr<FoundCheckpoint> found =
      ReadCheckpointOrPrevious(place.checkpoint);
  if (!found.ok()) {
    Add(problems, Severity::kError, "the checkpoint cannot be read",
        std::string(found.status().message()));
    return false;
  }
  if (!found->warning.empty()) {
    Add(problems, Severity::kWarning,
        "the training goes on from the checkpoint before the latest",
        found->warning);
  }
  const Checkpoint& checkpoint = found->checkpoint;
  loop::ResumeOptions options = {.path = found->path,
                                 .strict = place.strict,
                                 .optimizer = place.optimizer,
                                 .same_folder = place.continues};
  options.detail = TellChanges(place, checkpoint, recipe, plan, problems);
  return trainer.Resume(checkpoint, options, problems);
}

}  // namespace slipway
