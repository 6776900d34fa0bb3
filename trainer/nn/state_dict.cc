// Loads state dicts into modules.
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "c10/core/GradMode.h"
#include "trainer/nn/module.h"

namespace slipway::nn {
namespace {

// How a state dict differs from a module.
struct Mismatch {
  std::vector<std::string> missing, unexpected, misshapen;

  bool empty() const {
    return missing.empty() && unexpected.empty() && misshapen.empty();
  }
  std::string ToString() const {
    std::string text;
    AppendTo(text, "missing", missing);
    AppendTo(text, "unexpected", unexpected);
    AppendTo(text, "misshapen", misshapen);
    return text;
  }
  static void AppendTo(std::string& text, const char* what,
                       const std::vector<std::string>& names) {
    if (names.empty()) return;
    absl::StrAppend(&text, "\n  ", what, " (", names.size(),
                    "): ", absl::StrJoin(names, ", "));
  }
};

std::string ShapeDifference(const std::string& name, const at::Tensor& own,
                            const at::Tensor& given) {
  return absl::StrCat(name, " is [", absl::StrJoin(given.sizes(), ", "),
                      "], expected [", absl::StrJoin(own.sizes(), ", "), "]");
}

// The pairs (the module's tensor, what is to be copied into it).
using Copies = std::vector<std::pair<at::Tensor, at::Tensor>>;

Mismatch Match(const std::vector<NamedTensor>& own,
               const std::vector<NamedTensor>& given, Copies& copies) {
  std::map<std::string_view, at::Tensor> by_name(given.begin(), given.end());
  std::set<std::string_view> known;
  Mismatch mismatch;
  for (const auto& [name, tensor] : own) {
    known.insert(name);
    const auto found = by_name.find(name);
    if (found == by_name.end() || !found->second.defined()) {
      mismatch.missing.push_back(name);
    } else if (found->second.sizes() != tensor.sizes()) {
      mismatch.misshapen.push_back(
          ShapeDifference(name, tensor, found->second));
    } else {
      copies.emplace_back(tensor, found->second);
    }
  }
  for (const auto& [name, tensor] : given) {
    if (!known.contains(name)) mismatch.unexpected.push_back(name);
  }
  return mismatch;
}

}  // namespace

absl::Status LoadStateDict(Module& module,
                           const std::vector<NamedTensor>& state, bool strict) {
  Copies copies;
  const Mismatch mismatch = Match(module.StateDict(), state, copies);
  if (strict && !mismatch.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the state dict does not fit ", module.kind(), mismatch.ToString()));
  }
  const c10::AutoGradMode no_grad(false);
  for (const auto& [own, given] : copies) own.copy_(given);
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
