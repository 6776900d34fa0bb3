#include "trainer/loop/starting_weights.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/nn/state_dict.h"
#include "trainer/recipe/params.h"

namespace slipway::loop {
namespace {

namespace fs = std::filesystem;
using recipe::Node;
using Tensors = std::vector<nn::NamedTensor>;

constexpr char kBackbone[] = "backbone";

enum class Match { kExact, kNames, kFitting, kOrder };

const Node& At(const Node& recipe, std::string_view path) {
  static const auto* const kNone = new Node();
  const Node* node = recipe.FindPath(path);
  return node != nullptr ? *node : *kNone;
}

bool IsBeneath(std::string_view name, std::string_view parent) {
  return name.size() > parent.size() && name.starts_with(parent) &&
         name[parent.size()] == '.';
}

class Loading {
 public:
  Loading(const Node& recipe, nn::Module& model, Problems& problems)
      : recipe_(recipe),
        params_(At(recipe, "checkpoint_params"), "checkpoint_params", problems),
        model_(model),
        problems_(problems) {}

  void Run() {
    const std::string path = FindFile();
    const std::optional<Match> match = ReadMatch();
    if (path.empty() || !match) return;
    const absl::StatusOr<Checkpoint> checkpoint = ReadCheckpoint(path);
    if (!checkpoint.ok()) {
      return params_.Fail(key_, std::string(checkpoint.status().message()));
    }
    path_ = path;
    Tensors given = Weights(*checkpoint);
    nn::Module* target = &model_;
    if (params_.Bool("load_backbone", false)) target = Backbone(given);
    if (target == nullptr) return;
    Tensors own = target->StateDict();
    if (!LeaveHeadOut(own, given)) return;
    Fill(own, given, *match);
  }

 private:
  // --- what the recipe says --------------------------------------------------

  std::string FindFile() {
    const bool external = params_.Has("external_checkpoint_path");
    key_ = external ? "external_checkpoint_path" : "checkpoint_path";
    if (!params_.Has(key_)) return "";
    if (external && params_.Has("checkpoint_path")) {
      params_.Fail(key_, "two checkpoints are named",
                   "keep checkpoint_path or external_checkpoint_path");
      return "";
    }
    const std::string path = params_.Text(key_);
    if (path.find("://") != std::string::npos) {
      params_.Fail(key_, absl::StrCat("\"", path, "\" is not a file"),
                   "download it and name the file");
      return "";
    }
    return Existing(path);
  }

  std::string Existing(const std::string& path) {
    const Node& root = At(recipe_, "ckpt_root_dir");
    const fs::path folder =
        root.is_string() ? root.AsString() : std::string("checkpoints");
    std::error_code error;
    for (const fs::path& file : {fs::path(path), folder / path}) {
      if (fs::is_regular_file(file, error)) return file.string();
    }
    params_.Fail(key_, absl::StrCat("there is no checkpoint \"", path, "\""),
                 absl::StrCat("name a file here or in ", folder.string()));
    return "";
  }

  std::optional<Match> ReadMatch() {
    const Node* value = params_.Raw("strict_load");
    if (value == nullptr || value->is_null()) return Match::kOrder;
    if (value->is_bool()) {
      return value->AsBool() ? Match::kExact : Match::kNames;
    }
    const std::string text = value->is_string() ? value->AsString() : "";
    if (text == "no_key_matching") return Match::kOrder;
    if (text == "key_matching") return Match::kFitting;
    params_.Fail(
        "strict_load",
        absl::StrCat("strict_load is ", value->ToDisplay(),
                     ", expected True, False, key_matching or no_key_matching"),
        DidYouMean(text, {"key_matching", "no_key_matching"}));
    return std::nullopt;
  }

  // --- what the file has -----------------------------------------------------

  Tensors Weights(const Checkpoint& checkpoint) {
    if (!checkpoint.stripped_prefix.empty()) {
      Note("the checkpoint's names begin with a wrapper's prefix",
           absl::StrCat("\"", checkpoint.stripped_prefix, "\" is taken off"));
    }
    if (!params_.Bool("load_ema_as_net", true)) return checkpoint.net;
    for (const auto& [key, tensors] : checkpoint.extra_nets) {
      if (key == "ema_net") return tensors;
    }
    return checkpoint.net;
  }

  // The child, with `given` as its names have it; null after an error.
  nn::Module* Backbone(Tensors& given) {
    nn::Module* child = model_.Find(kBackbone);
    if (child == nullptr) {
      std::vector<std::string> names;
      for (const auto& [name, module] : model_.Children()) {
        names.push_back(name);
      }
      params_.Fail("load_backbone",
                   absl::StrCat("the model has no child \"backbone\", but ",
                                absl::StrJoin(names, ", ")));
      return nullptr;
    }
    Tensors beneath;
    for (const auto& [name, tensor] : given) {
      if (!IsBeneath(name, kBackbone)) continue;
      beneath.emplace_back(name.substr(sizeof(kBackbone)), tensor);
    }
    if (!beneath.empty()) given = std::move(beneath);
    return child;
  }

  // Takes away what depends on the number of classes, where that differs.
  bool LeaveHeadOut(Tensors& own, Tensors& given) {
    if (!params_.Has("checkpoint_num_classes")) return true;
    const int64_t theirs = params_.Int("checkpoint_num_classes");
    const Node& ours = At(recipe_, "arch_params.num_classes");
    if (!ours.is_int() || ours.AsInt() == theirs) return true;
    const std::string& head = model_.head();
    if (head.empty()) {
      params_.Fail("checkpoint_num_classes",
                   absl::StrCat("the model ", model_.kind(),
                                " names no head that could be left out"),
                   "strict_load: key_matching takes what fits");
      return false;
    }
    const auto beneath = [&](const nn::NamedTensor& tensor) {
      return IsBeneath(tensor.first, head);
    };
    std::erase_if(own, beneath);
    std::erase_if(given, beneath);
    Note(absl::StrCat("the model's head \"", head, "\" starts afresh"),
         absl::StrCat("the checkpoint has ", theirs, " classes, the model ",
                      ours.AsInt()));
    return true;
  }

  // --- into the model --------------------------------------------------------

  void Fill(const Tensors& own, const Tensors& given, Match match) {
    const nn::StateDictFit fit = nn::CompareStateDicts(own, given);
    if (fit.exact() || own.empty()) return fit.CopyFitting();
    if (match == Match::kOrder) return FillInOrder(own, given, fit);
    const bool allowed = match == Match::kFitting ||
                         (match == Match::kNames && fit.misshapen.empty());
    if (!allowed || fit.fitting.empty()) return Misfit(fit.ToString());
    fit.CopyFitting();
    Problem problem =
        Told("not all of the starting weights fit",
             absl::StrCat(fit.fitting.size(), " of ", own.size(),
                          " tensors are taken; the others keep their own start",
                          fit.ToString()));
    problem.severity = Severity::kWarning;
    problems_.push_back(std::move(problem));
  }

  void FillInOrder(const Tensors& own, const Tensors& given,
                   const nn::StateDictFit& by_name) {
    nn::StateDictFit fit;
    for (size_t i = 0; i < own.size(); ++i) {
      const bool same =
          i < given.size() && given[i].second.sizes() == own[i].second.sizes();
      if (!same) {
        return Misfit(absl::StrCat(
            by_name.ToString(), "\n  and in order, tensor ", i, ": ",
            own[i].first, " is ", nn::ShapeText(own[i].second), ", found ",
            i < given.size() ? absl::StrCat(given[i].first, " ",
                                            nn::ShapeText(given[i].second))
                             : "nothing"));
      }
      fit.fitting.emplace_back(own[i].second, given[i].second);
    }
    fit.CopyFitting();
    Note("the starting weights are taken in order, for their names differ",
         absl::StrCat(own.size(), " tensors, from ", given[0].first, " as ",
                      own[0].first, " to ", given[own.size() - 1].first, " as ",
                      own.back().first, "; ", given.size() - own.size(),
                      " are left"));
  }

  void Misfit(const std::string& how) {
    problems_.push_back(
        Told(absl::StrCat(path_, " does not fit ", model_.kind()),
             how.substr(how.find_first_not_of("\n "))));
  }

  void Note(std::string message, std::string detail) {
    Problem problem = Told(std::move(message), std::move(detail));
    problem.severity = Severity::kNote;
    problems_.push_back(std::move(problem));
  }

  Problem Told(std::string message, std::string detail) {
    Problem problem;
    problem.kind = "checkpoint";
    problem.message = std::move(message);
    problem.detail = std::move(detail);
    problem.where = {params_.Raw(key_)->mark()};
    return problem;
  }

  const Node& recipe_;
  recipe::Params params_;
  nn::Module& model_;
  Problems& problems_;
  std::string key_;
  std::string path_;
};

}  // namespace

void LoadStartingWeights(const Node& recipe, nn::Module& model,
                         Problems& problems) {
  Loading(recipe, model, problems).Run();
}

}  // namespace slipway::loop
