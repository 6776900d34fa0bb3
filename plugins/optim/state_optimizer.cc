#include "plugins/optim/state_optimizer.h"

#include <optional>

#include "ATen/ops/_foreach_add.h"
#include "ATen/ops/empty_like.h"
#include "ATen/ops/full.h"
#include "ATen/ops/full_like.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "c10/core/GradMode.h"
#include "c10/util/Exception.h"

namespace slipway::optim {
namespace {

absl::Status CheckFit(const std::string& name, const at::Tensor& parameter,
                      const at::Tensor& gradient) {
  if (!parameter.is_non_overlapping_and_dense()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "parameter \"", name,
        "\" is a view with gaps or overlaps in memory, which optimizers cannot "
        "update; give the model a contiguous copy of it"));
  }
  if (gradient.layout() != at::kStrided) {
    return absl::FailedPreconditionError(
        absl::StrCat("the gradient of parameter \"", name,
                     "\" is sparse; optimizers need dense gradients"));
  }
  return absl::OkStatus();
}

const StateField* FindField(const std::vector<StateField>& fields,
                            const std::string& name) {
  for (const StateField& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

const at::Tensor* FindTensor(const OptimizerState& entry,
                             const std::string& name) {
  for (const auto& [key, tensor] : entry) {
    if (key == name) return &tensor;
  }
  return nullptr;
}

std::string ShapeText(const at::Tensor& tensor) {
  return absl::StrCat("[", absl::StrJoin(tensor.sizes(), ", "), "]");
}

}  // namespace

bool SameLayout(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  for (int64_t i = 0; i < a.dim(); ++i) {
    if (a.size(i) > 1 && a.stride(i) != b.stride(i)) return false;
  }
  return true;
}

at::Tensor FitTo(const at::Tensor& tensor, const at::Tensor& like) {
  if (tensor.scalar_type() == like.scalar_type() && SameLayout(tensor, like)) {
    return tensor;
  }
  return at::empty_like(like).copy_(tensor);
}

StateOptimizer::StateOptimizer(std::vector<ParameterGroup> groups,
                               std::vector<StateField> fields,
                               double weight_decay)
    : Optimizer(std::move(groups)),
      fields_(std::move(fields)),
      weight_decay_(weight_decay) {
  for (const ParameterGroup& group : groups_) {
    std::vector<Slot>& slots = slots_.emplace_back();
    for (const auto& [name, parameter] : group.parameters) {
      slots.push_back({name, parameter, {}});
    }
  }
}

absl::Status StateOptimizer::Step(const std::vector<double>& learning_rates) {
  if (learning_rates.size() != groups_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", learning_rates.size(), " learning rates for ",
                     groups_.size(), " parameter groups"));
  }
  const c10::NoGradGuard no_grad;
  std::vector<Work> step;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const absl::Status status = CollectGroup(i, learning_rates[i], step);
    if (!status.ok()) return status;
  }
  Prepare(step);
  for (const Work& work : step) Update(work);
  return absl::OkStatus();
}

double StateOptimizer::WeightDecayOf(size_t group) const {
  const double own = groups_[group].weight_decay;
  return own < 0 ? weight_decay_ : own;
}

absl::Status StateOptimizer::CollectGroup(size_t group, double learning_rate,
                                          std::vector<Work>& step) {
  Work going;
  going.learning_rate = learning_rate;
  going.weight_decay = WeightDecayOf(group);
  going.state.resize(fields_.size());
  Work first = going;
  first.first_step = true;
  for (Slot& slot : slots_[group]) {
    const at::Tensor& gradient = slot.parameter.grad();
    if (!gradient.defined()) continue;
    const absl::Status status = CheckFit(slot.name, slot.parameter, gradient);
    if (!status.ok()) return status;
    Work& work = slot.state.empty() ? first : going;
    PrepareState(slot);
    work.parameters.push_back(slot.parameter);
    work.gradients.push_back(FitTo(gradient, slot.parameter));
    for (size_t i = 0; i < fields_.size(); ++i) {
      work.state[i].push_back(slot.state[i]);
    }
  }
  for (Work* work : {&first, &going}) {
    if (!work->parameters.empty()) step.push_back(std::move(*work));
  }
  return absl::OkStatus();
}

void StateOptimizer::PrepareState(Slot& slot) const {
  if (slot.state.empty()) {
    for (const StateField& field : fields_) {
      slot.state.push_back(MakeState(field, slot));
    }
    return;
  }
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].kind != StateField::Kind::kLikeParameter) continue;
    slot.state[i] = FitTo(slot.state[i], slot.parameter);
  }
}

at::Tensor StateOptimizer::MakeState(const StateField& field,
                                     const Slot& slot) const {
  switch (field.kind) {
    case StateField::Kind::kLikeParameter:
      return at::full_like(slot.parameter, field.initial);
    case StateField::Kind::kScalar:
      return at::full({}, field.initial,
                      slot.parameter.options().dtype(at::kFloat));
    case StateField::Kind::kHostScalar:
      break;
  }
  return at::full({}, field.initial, at::TensorOptions().dtype(at::kFloat));
}

std::vector<std::pair<std::string, OptimizerState>> StateOptimizer::State()
    const {
  std::vector<std::pair<std::string, OptimizerState>> all;
  for (const std::vector<Slot>& slots : slots_) {
    for (const Slot& slot : slots) {
      if (slot.state.empty()) continue;
      OptimizerState& entry =
          all.emplace_back(slot.name, OptimizerState()).second;
      for (size_t i = 0; i < fields_.size(); ++i) {
        entry.emplace_back(fields_[i].name, slot.state[i]);
      }
    }
  }
  return all;
}

// --- as a part of a compiled step --------------------------------------------

absl::StatusOr<std::vector<nn::NamedTensor>> StateOptimizer::UpdatedTensors() {
  if (NumbersOf(1, 1, 0).empty()) {
    return absl::FailedPreconditionError(
        "this optimizer is written for its kernels only");
  }
  std::vector<nn::NamedTensor> tensors;
  bool has_state = false;
  for (const std::vector<Slot>& slots : slots_) {
    for (const Slot& slot : slots) {
      has_state |= !slot.state.empty();
      for (size_t i = 0; i < slot.state.size(); ++i) {
        if (fields_[i].kind != StateField::Kind::kLikeParameter) continue;
        tensors.emplace_back(absl::StrCat(fields_[i].name, "/", slot.name),
                             slot.state[i]);
      }
    }
  }
  if (!fields_.empty() && !has_state) {
    return absl::UnavailableError(
        "the optimizer's state appears in its first step");
  }
  return tensors;
}

absl::StatusOr<double> StateOptimizer::StepsOf(size_t group) const {
  const StateField* const count = FindField(fields_, "step");
  if (count == nullptr) return 0;
  const size_t field = count - fields_.data();
  std::optional<double> steps;
  for (const Slot& slot : slots_[group]) {
    if (slot.state.empty()) continue;
    const double own = slot.state[field].item().toDouble();
    if (steps && *steps != own) {
      return absl::FailedPreconditionError(
          absl::StrCat("parameter \"", slot.name, "\" has taken ", own,
                       " steps, others of its group ", *steps));
    }
    steps = own;
  }
  return steps.value_or(0);
}

absl::StatusOr<std::vector<double>> StateOptimizer::StepNumbers(
    const StepContext& context, const std::vector<double>& learning_rates) {
  std::vector<double> numbers;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const absl::StatusOr<double> steps = StepsOf(i);
    if (!steps.ok()) return steps.status();
    for (const double number :
         NumbersOf(learning_rates[i], *steps, WeightDecayOf(i))) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

void StateOptimizer::Update(const std::vector<at::Tensor>& numbers) {
  const c10::NoGradGuard no_grad;
  const size_t each = numbers.size() / groups_.size();
  for (size_t i = 0; i < groups_.size(); ++i) {
    std::vector<Work> group;
    const absl::Status status = CollectGroup(i, 0, group);
    TORCH_CHECK(status.ok(), status.message());
    const auto first = numbers.begin() + static_cast<int64_t>(i * each);
    const std::vector<at::Tensor> own(first,
                                      first + static_cast<int64_t>(each));
    for (const Work& work : group) UpdateByNumbers(work, own);
  }
}

void StateOptimizer::TookStep() {
  const StateField* const count = FindField(fields_, "step");
  if (count == nullptr) return;
  std::vector<at::Tensor> steps;
  for (const std::vector<Slot>& slots : slots_) {
    for (const Slot& slot : slots) {
      if (!slot.state.empty()) {
        steps.push_back(slot.state[count - fields_.data()]);
      }
    }
  }
  if (!steps.empty()) at::_foreach_add_(steps, 1);
}

absl::Status StateOptimizer::LoadState(
    const std::vector<std::pair<std::string, OptimizerState>>& state) {
  std::vector<std::string> wrong;
  for (const auto& [name, entry] : state) {
    if (const Slot* slot = FindSlot(name)) {
      CheckEntry(*slot, entry, wrong);
    } else {
      wrong.push_back(absl::StrCat("unexpected parameter \"", name, "\""));
    }
  }
  if (!wrong.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the optimizer's state does not fit: ", absl::StrJoin(wrong, "; ")));
  }
  const c10::NoGradGuard no_grad;
  for (std::vector<Slot>& slots : slots_) {
    for (Slot& slot : slots) slot.state.clear();
  }
  for (const auto& [name, entry] : state) LoadEntry(*FindSlot(name), entry);
  return absl::OkStatus();
}

void StateOptimizer::CheckEntry(const Slot& slot, const OptimizerState& entry,
                                std::vector<std::string>& wrong) const {
  for (const auto& [key, tensor] : entry) {
    const StateField* field = FindField(fields_, key);
    if (field == nullptr) {
      wrong.push_back(absl::StrCat("unexpected ", slot.name, ".", key));
      continue;
    }
    const bool scalar = field->kind != StateField::Kind::kLikeParameter;
    const bool fits =
        scalar ? tensor.numel() == 1 : tensor.sizes() == slot.parameter.sizes();
    if (fits) continue;
    wrong.push_back(absl::StrCat(slot.name, ".", key, " has shape ",
                                 ShapeText(tensor), ", expected ",
                                 scalar ? "[]" : ShapeText(slot.parameter)));
  }
  for (const StateField& field : fields_) {
    if (FindTensor(entry, field.name) != nullptr) continue;
    wrong.push_back(absl::StrCat("missing ", slot.name, ".", field.name));
  }
}

void StateOptimizer::LoadEntry(Slot& slot, const OptimizerState& entry) const {
  for (const StateField& field : fields_) {
    at::Tensor tensor = MakeState(field, slot);
    tensor.copy_(FindTensor(entry, field.name)->reshape(tensor.sizes()));
    slot.state.push_back(std::move(tensor));
  }
}

StateOptimizer::Slot* StateOptimizer::FindSlot(const std::string& name) {
  for (std::vector<Slot>& slots : slots_) {
    for (Slot& slot : slots) {
      if (slot.name == name) return &slot;
    }
  }
  return nullptr;
}

}  // namespace slipway::optim
