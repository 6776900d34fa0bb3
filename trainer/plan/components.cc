#include "trainer/plan/components.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

namespace slipway::plan {
namespace {

using recipe::Node;

struct Place {
  const char* kind;
  const char* path;
};

// Where a recipe names components, with SuperGradients' keys.
constexpr Place kPlaces[] = {
    {"models", "architecture"},
    {"models", "student_architecture"},
    {"models", "teacher_architecture"},
    {"losses", "training_hyperparams.loss"},
    {"optimizers", "training_hyperparams.optimizer"},
    {"schedules", "training_hyperparams.lr_mode"},
    {"metrics", "training_hyperparams.train_metrics_list"},
    {"metrics", "training_hyperparams.valid_metrics_list"},
    {"metrics", "training_hyperparams.test_metrics_list"},
    {"callbacks", "training_hyperparams.phase_callbacks"},
    {"reporters", "training_hyperparams.sg_logger"},
};

// Those of each data set, beneath "train", "val" and "test".
constexpr Place kDatasetPlaces[] = {
    {"datasets", "dataloader_params.dataset"},
    {"collates", "dataloader_params.collate_fn"},
    {"samplers", "dataloader_params.sampler"},
    {"transforms", "dataset_params.transforms"},
};

// SuperGradients' name for the files that every run writes.
constexpr std::string_view kOwnReporter = "base_sg_logger";

void Add(const char* kind, std::string_view name, const Mark& where,
         std::vector<ComponentUse>& uses) {
  if (name.empty() || name == kOwnReporter) return;
  uses.push_back({kind, std::string(name), where});
}

// A component is written `Name`, `{Name: {parameters}}` or `{_target_: a.Name,
// parameters}`; some keys take a list of them.
void AddAll(const char* kind, const Node& value,
            std::vector<ComponentUse>& uses) {
  for (const Node& item : value.items()) AddAll(kind, item, uses);
  if (value.is_string()) Add(kind, value.AsString(), value.mark(), uses);
  const Node* const target = value.Find("_target_");
  if (target != nullptr && target->is_string()) {
    const std::string_view path = target->AsString();
    Add(kind, path.substr(path.rfind('.') + 1), target->mark(), uses);
  } else if (value.entries().size() == 1) {
    Add(kind, value.entries()[0].key, value.entries()[0].key_mark, uses);
  }
}

void AddAt(const char* kind, const Node& recipe, std::string_view path,
           std::vector<ComponentUse>& uses) {
  const Node* const value = recipe.FindPath(path);
  if (value != nullptr) AddAll(kind, *value, uses);
}

}  // namespace

std::vector<ComponentUse> ComponentsOf(const Node& recipe) {
  std::vector<ComponentUse> uses;
  for (const Place& place : kPlaces) {
    AddAt(place.kind, recipe, place.path, uses);
  }
  for (const char* split : {"train", "val", "test"}) {
    AddAt("datasets", recipe, absl::StrCat(split, "_dataloader"), uses);
    for (const Place& place : kDatasetPlaces) {
      AddAt(place.kind, recipe,
            absl::StrCat("dataset_params.", split, "_", place.path), uses);
    }
  }
  return uses;
}

}  // namespace slipway::plan
