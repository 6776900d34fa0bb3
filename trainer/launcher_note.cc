#include "trainer/launcher_note.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace slipway {
namespace {

// SuperGradients: "Off" (a boolean in YAML), "DP", "DDP", "AUTO".
bool IsOff(const recipe::Node* multi_gpu) {
  if (multi_gpu == nullptr || multi_gpu->is_null()) return true;
  if (multi_gpu->is_bool()) return !multi_gpu->AsBool();
  return multi_gpu->is_string() &&
         absl::AsciiStrToLower(multi_gpu->AsString()) == "off";
}

}  // namespace

void NoteLauncher(const recipe::Node& recipe, const std::string& name,
                  Problems& problems) {
  const recipe::Node* multi_gpu = recipe.Find("multi_gpu");
  const recipe::Node* count = recipe.Find("num_gpus");
  if (IsOff(multi_gpu)) return;
  const bool counted = count != nullptr && count->is_int();
  if (counted && count->AsInt() <= 1) return;
  Problem note;
  note.kind = "value";
  note.severity = Severity::kNote;
  note.message =
      absl::StrCat("the recipe asks for ",
                   counted ? absl::StrCat(count->AsInt(), " processes")
                           : std::string("a process per device"),
                   "; this is one");
  note.where = {multi_gpu->mark()};
  note.hint = absl::StrCat(
      "bazel run //launcher -- --num_processes=recipe -- --recipe=", name);
  problems.push_back(std::move(note));
}

}  // namespace slipway
