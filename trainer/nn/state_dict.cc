#include "trainer/nn/state_dict.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "c10/core/GradMode.h"
#include "trainer/recipe/problem.h"

namespace slipway::nn {
namespace {

// Of each kind of mismatch: a wrong architecture has hundreds.
constexpr size_t kNamesToTell = 20;

void AppendNames(std::string& text, const char* what, size_t all,
                 const std::vector<std::string>& names) {
  if (all == 0) return;
  absl::StrAppend(&text, "\n  ", what, " (", all,
                  "): ", absl::StrJoin(names, ", "));
  if (all > names.size()) {
    absl::StrAppend(&text, " and ", all - names.size(), " more");
  }
}

std::vector<std::string> First(const std::vector<std::string>& names) {
  const size_t count = std::min(names.size(), kNamesToTell);
  return {names.begin(), names.begin() + count};
}

}  // namespace

std::string ShapeText(const at::Tensor& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.sizes(), ", "), "]");
}

std::string StateDictFit::ToString() const {
  std::vector<std::string> absent = First(missing);
  for (std::string& name : absent) {
    const std::string nearest = NearestName(name, unexpected);
    if (!nearest.empty()) absl::StrAppend(&name, " (found ", nearest, ")");
  }
  std::string text;
  AppendNames(text, "missing", missing.size(), absent);
  AppendNames(text, "unexpected", unexpected.size(), First(unexpected));
  AppendNames(text, "misshapen", misshapen.size(), First(misshapen));
  return text;
}

void StateDictFit::CopyFitting() const {
  const c10::NoGradGuard no_gradients;
  for (const auto& [own, given] : fitting) own.copy_(given);
}

StateDictFit CompareStateDicts(const std::vector<NamedTensor>& own,
                               const std::vector<NamedTensor>& given) {
  std::map<std::string_view, at::Tensor> by_name(given.begin(), given.end());
  std::set<std::string_view> known;
  StateDictFit fit;
  for (const auto& [name, tensor] : own) {
    known.insert(name);
    const auto found = by_name.find(name);
    if (found == by_name.end() || !found->second.defined()) {
      fit.missing.push_back(name);
    } else if (found->second.sizes() != tensor.sizes()) {
      fit.misshapen.push_back(absl::StrCat(name, " is ",
                                           ShapeText(found->second),
                                           ", expected ", ShapeText(tensor)));
    } else {
      fit.fitting.emplace_back(tensor, found->second);
    }
  }
  for (const auto& [name, tensor] : given) {
    if (!known.contains(name)) fit.unexpected.push_back(name);
  }
  return fit;
}

absl::Status LoadStateDict(Module& module,
                           const std::vector<NamedTensor>& state, bool strict) {
  const StateDictFit fit = CompareStateDicts(module.StateDict(), state);
  if (strict && !fit.exact()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the state dict does not fit ", module.kind(), fit.ToString()));
  }
  fit.CopyFitting();
  return absl::OkStatus();
}

int64_t CountParameters(const Module& module) {
  int64_t count = 0;
  for (const auto& [name, tensor] : module.NamedParameters()) {
    count += tensor.numel();
  }
  return count;
}

}  // namespace slipway::nn
