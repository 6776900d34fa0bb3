#include "trainer/loop/parameter_groups.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace slipway::loop {
namespace {

using recipe::Node;

constexpr std::string_view kDefault = "default";

struct Rate {
  std::string prefix;  // "default" fits everything
  double value = 0;
  Mark where = {};
  ParameterGroup group = {};
};

void Fail(Problems& problems, std::string message, const Mark& where,
          std::string hint) {
  problems.push_back({.kind = "value",
                      .message = std::move(message),
                      .where = {where},
                      .hint = std::move(hint)});
}

void AddRate(const std::string& prefix, const Node& value, const Mark& where,
             std::vector<Rate>& rates, Problems& problems) {
  if (!value.is_number() || !std::isfinite(value.AsDouble()) ||
      value.AsDouble() < 0) {
    Fail(problems,
         absl::StrCat("the learning rate of \"", prefix, "\" is ",
                      value.ToDisplay()),
         value.mark(),
         "set a number of at least 0 for it in "
         "training_hyperparams.initial_lr; 0 freezes");
    return;
  }
  rates.push_back(
      {.prefix = prefix, .value = value.AsDouble(), .where = where});
}

// The head at `lr`, all else frozen.
std::vector<Rate> HeadAlone(const nn::Module& model, const Node& lr,
                            const Node& finetune, Problems& problems) {
  std::vector<Rate> rates;
  if (model.head().empty()) {
    Fail(problems,
         absl::StrCat("finetune: the model ", model.kind(), " names no head"),
         finetune.mark(),
         "set initial_lr to a map instead: {PREFIX: 0.1, default: 0}");
  } else if (lr.is_map()) {
    Fail(problems, "finetune and a map of learning rates contradict each other",
         lr.mark(), "set initial_lr to a number, or finetune to False");
  } else {
    AddRate(model.head(), lr, lr.mark(), rates, problems);
    rates.push_back(
        {.prefix = std::string(kDefault), .value = 0, .where = lr.mark()});
  }
  return rates;
}

std::vector<Rate> ReadRates(const nn::Module& model, const Node& recipe,
                            Problems& problems) {
  std::vector<Rate> rates;
  const Node* finetune = recipe.FindPath("training_hyperparams.finetune");
  const Node* lr = recipe.FindPath("training_hyperparams.initial_lr");
  if (lr == nullptr || lr->is_null()) {
    Fail(problems, "no learning rate is set",
         lr == nullptr ? recipe.mark() : lr->mark(),
         "set training_hyperparams.initial_lr");
  } else if (finetune != nullptr && finetune->is_bool() && finetune->AsBool()) {
    rates = HeadAlone(model, *lr, *finetune, problems);
  } else if (!lr->is_map()) {
    AddRate(std::string(kDefault), *lr, lr->mark(), rates, problems);
  } else {
    for (const Node::Entry& entry : lr->entries()) {
      AddRate(entry.key, entry.value, entry.key_mark, rates, problems);
    }
    if (lr->Find(kDefault) == nullptr) {
      Fail(problems, "the map initial_lr has no \"default\"", lr->mark(),
           "add the learning rate of all other parameters: \"default: 0.1\"");
    }
  }
  return rates;
}

bool Fits(const Rate& rate, std::string_view name) {
  return rate.prefix == kDefault ||
         name.substr(0, rate.prefix.size()) == rate.prefix;
}

// `default` before any prefix, then by length.
bool FitsLess(const Rate& a, const Rate& b) {
  const auto weight = [](const Rate& rate) {
    return rate.prefix == kDefault ? 0 : rate.prefix.size() + 1;
  };
  return weight(a) < weight(b);
}

Rate* BestFit(std::vector<Rate>& rates, std::string_view name) {
  Rate* best = nullptr;
  for (Rate& rate : rates) {
    if (!Fits(rate, name)) continue;
    if (best == nullptr || FitsLess(*best, rate)) best = &rate;
  }
  return best;
}

// "layer1" and "layer1.0" of "layer1.0.weight": what prefixes may be meant.
std::vector<std::string> ModuleNames(const nn::Module& model) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : model.NamedParameters()) {
    for (size_t dot = name.find('.'); dot != std::string::npos;
         dot = name.find('.', dot + 1)) {
      names.push_back(name.substr(0, dot));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void CheckPrefixes(const nn::Module& model, const std::vector<Rate>& rates,
                   Problems& problems) {
  const std::vector<nn::NamedTensor> parameters = model.NamedParameters();
  for (const Rate& rate : rates) {
    const bool fits =
        std::any_of(parameters.begin(), parameters.end(),
                    [&](const auto& named) { return Fits(rate, named.first); });
    if (fits) continue;
    Fail(problems,
         absl::StrCat("no parameter's name begins with \"", rate.prefix, "\""),
         rate.where, DidYouMean(rate.prefix, ModuleNames(model)));
  }
}

bool IsNormalisation(const std::string& kind) {
  for (const std::string_view norm :
       {"BatchNorm", "GroupNorm", "LayerNorm", "InstanceNorm"}) {
    if (kind.find(norm) != std::string::npos) return true;
  }
  return false;
}

bool WithoutWeightDecay(nn::Module& model, const std::string& name,
                        const at::Tensor& parameter) {
  const size_t dot = name.rfind('.');
  const std::string path = dot == std::string::npos ? "" : name.substr(0, dot);
  const std::string leaf =
      dot == std::string::npos ? name : name.substr(dot + 1);
  if (leaf == "bias") return true;
  if (leaf != "weight") return false;
  const nn::Module* module = model.Find(path);
  if (module == nullptr || module->opaque()) return parameter.dim() <= 1;
  return IsNormalisation(module->kind());
}

// The two halves of a group; those without parameters are left out.
std::vector<ParameterGroup> Split(nn::Module& model, ParameterGroup group,
                                  bool zero_weight_decay) {
  ParameterGroup without = group;
  without.weight_decay = 0;
  without.parameters.clear();
  ParameterGroup with = without;
  with.weight_decay = group.weight_decay;
  for (auto& named : group.parameters) {
    const bool zero = zero_weight_decay &&
                      WithoutWeightDecay(model, named.first, named.second);
    (zero ? without : with).parameters.push_back(std::move(named));
  }
  std::vector<ParameterGroup> halves;
  for (ParameterGroup* half : {&without, &with}) {
    if (!half->parameters.empty()) halves.push_back(std::move(*half));
  }
  return halves;
}

// Gives each trainable parameter to the rate that fits it best, and returns
// those of rate 0. A tensor that has two names counts under its first.
std::vector<at::Tensor> Distribute(const nn::Module& model,
                                   std::vector<Rate>& rates) {
  std::vector<at::Tensor> frozen;
  std::set<const void*> seen;
  for (const auto& [name, parameter] : model.NamedParameters()) {
    Rate* rate = BestFit(rates, name);
    if (rate == nullptr || !parameter.requires_grad()) continue;
    if (!seen.insert(parameter.unsafeGetTensorImpl()).second) continue;
    if (rate->value == 0) {
      frozen.push_back(parameter);
    } else {
      rate->group.parameters.emplace_back(name, parameter);
    }
  }
  return frozen;
}

}  // namespace

std::vector<ParameterGroup> BuildParameterGroups(nn::Module& model,
                                                 const Node& recipe,
                                                 bool zero_weight_decay,
                                                 Problems& problems) {
  const size_t before = problems.size();
  std::vector<Rate> rates = ReadRates(model, recipe, problems);
  CheckPrefixes(model, rates, problems);
  const std::vector<at::Tensor> frozen = Distribute(model, rates);
  std::vector<ParameterGroup> groups;
  for (Rate& rate : rates) {
    rate.group.name = rate.prefix;
    rate.group.initial_lr = rate.value;
    for (ParameterGroup& half :
         Split(model, std::move(rate.group), zero_weight_decay)) {
      groups.push_back(std::move(half));
    }
  }
  if (problems.size() == before && groups.empty()) {
    Fail(problems, "every parameter of the model is frozen", rates[0].where,
         "set a learning rate above 0 in training_hyperparams.initial_lr");
  }
  if (problems.size() > before) return groups;
  for (const at::Tensor& parameter : frozen) parameter.set_requires_grad(false);
  return groups;
}

}  // namespace slipway::loop
