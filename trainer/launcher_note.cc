#include "trainer/launcher_note.h"

#include <algorithm>
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

int ProcessesAskedFor(const recipe::Node& recipe) {
  if (IsOff(recipe.Find("multi_gpu"))) return 1;
  const recipe::Node* count = recipe.Find("num_gpus");
  if (count == nullptr || !count->is_int()) return 0;
  return static_cast<int>(std::max<int64_t>(count->AsInt(), 1));
}

void NoteLauncher(const recipe::Node& recipe, const std::string& name,
                  Problems& problems) {
  const int processes = ProcessesAskedFor(recipe);
  if (processes == 1) return;
  Problem note;
  note.kind = "value";
  note.severity = Severity::kNote;
  note.message =
      absl::StrCat("the recipe asks for ",
                   processes > 0 ? absl::StrCat(processes, " processes")
                                 : std::string("a process per device"),
                   "; this is one");
  note.where = {recipe.Find("multi_gpu")->mark()};
  note.hint = absl::StrCat(
      "bazel run //launcher -- --num_processes=recipe -- --recipe=", name);
  problems.push_back(std::move(note));
}

}  // namespace slipway
