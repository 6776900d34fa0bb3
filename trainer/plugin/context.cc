#include "trainer/plugin/context.h"

#include <limits>
#include <utility>

#include "trainer/plugin/training_state.h"

namespace slipway {

Value TrainingState::RunModel(const Value& input) const {
  if (wrappers.empty()) return model->Run(input);
  nn::Module::ForwardFunction run = [this](const Value& x) {
    return model->Run(x);
  };
  for (const nn::Module::ForwardWrapper& wrapper : wrappers) {
    run = [&wrapper, next = std::move(run)](const Value& x) {
      return wrapper(next, x);
    };
  }
  return run(input);
}

int Context::rank() const { return state_->rank; }
int Context::local_rank() const { return state_->local_rank; }
int Context::world_size() const { return state_->world_size; }
at::Device Context::device() const { return state_->device; }
const std::string& Context::run_dir() const { return state_->run_dir; }
const recipe::Node& Context::recipe() const { return state_->recipe; }
uint64_t Context::seed() const { return state_->seed; }
bool Context::supergradients_compat() const {
  return state_->supergradients_compat;
}

int64_t Context::max_epochs() const { return state_->max_epochs; }
int64_t Context::batches_per_epoch() const { return state_->batches_per_epoch; }
int64_t Context::accumulate() const { return state_->accumulate; }
int64_t Context::steps_per_epoch() const { return state_->steps_per_epoch; }
int64_t Context::total_steps() const { return state_->total_steps; }

int64_t Context::epoch() const { return state_->epoch; }
int64_t Context::batch() const { return state_->batch_index; }
int64_t Context::micro() const { return state_->micro; }
int64_t Context::step() const { return state_->step; }

Control& Context::control() { return state_->control; }

void Context::Report(Problem problem) {
  const bool is_new = state_->reported.insert(FormatProblem(problem)).second;
  if (is_new && state_->report) state_->report(std::move(problem));
}

void Context::Tell(std::string_view name, recipe::Node detail) {
  if (state_->tell) state_->tell(name, std::move(detail));
}

void Context::SetResult(std::string_view name, recipe::Node section) {
  state_->results.insert_or_assign(std::string(name), std::move(section));
}

void ConfigureContext::SetGradientScaler(
    std::unique_ptr<GradientScaler> scaler) {
  state_->scaler = std::move(scaler);
}

void ConfigureContext::SetWarmup(std::unique_ptr<Warmup> warmup) {
  state_->warmup = std::move(warmup);
}

nn::Module& ModelContext::model() { return *state_->model; }

void ModelContext::AddModel(std::string name,
                            std::unique_ptr<nn::Module> model) {
  state_->extra_models.emplace_back(std::move(name), std::move(model));
}

nn::Module& OptimizerContext::model() { return *state_->model; }

std::vector<ParameterGroup>& OptimizerContext::groups() {
  return state_->groups;
}

nn::Module& WrapContext::model() { return *state_->model; }

void WrapContext::Wrap(nn::Module::ForwardWrapper wrapper) {
  state_->wrappers.push_back(std::move(wrapper));
}

void WrapContext::SetStep(StepFunction step) {
  state_->whole_step.function = std::move(step);
}

const std::string& WrapContext::LossBlocker() const {
  return state_->whole_step.loss_blocker;
}

const std::string& WrapContext::StepBlocker() const {
  return state_->whole_step.step_blocker;
}

const nn::Module& CheckpointContext::model() const { return *state_->model; }

const std::string& CheckpointContext::path() const {
  return state_->checkpoint_path;
}

void CheckpointContext::SetTensors(std::string key,
                                   std::vector<nn::NamedTensor> tensors) {
  for (auto& [name, old] : state_->checkpoint_tensors) {
    if (name == key) {
      old = std::move(tensors);
      return;
    }
  }
  state_->checkpoint_tensors.emplace_back(std::move(key), std::move(tensors));
}

const std::vector<nn::NamedTensor>* CheckpointContext::FindTensors(
    std::string_view key) const {
  for (const auto& [name, tensors] : state_->checkpoint_tensors) {
    if (name == key) return &tensors;
  }
  return nullptr;
}

nn::Module& FitContext::model() { return *state_->model; }

Optimizer& FitContext::optimizer() { return *state_->optimizer; }

absl::Status FitContext::SetLoaderParameter(std::string_view part,
                                            std::string_view parameter,
                                            const recipe::Node& value) {
  if (!state_->loader_writable) {
    return absl::FailedPreconditionError(
        "parameters of the training loader can be set in EpochBegin only: the "
        "loader already prepares this epoch's batches");
  }
  return state_->train_loader->Set(part, parameter, value);
}

double FitContext::Metric(std::string_view split, std::string_view name) const {
  const auto found =
      state_->metrics.find({std::string(split), std::string(name)});
  return found == state_->metrics.end()
             ? std::numeric_limits<double>::quiet_NaN()
             : found->second;
}

data::Batch& BatchContext::current_batch() { return state_->batch; }

const data::Batch& ForwardContext::current_batch() const {
  return state_->batch;
}

void ForwardContext::Enter(std::unique_ptr<Scope> scope) {
  state_->scopes.push_back(std::move(scope));
}

const data::Batch& OutputContext::current_batch() const {
  return state_->batch;
}

Value& OutputContext::prediction() { return state_->prediction; }

void OutputContext::SetLoss(LossOutput loss) {
  state_->loss = std::move(loss);
  state_->loss_set = true;
}

LossOutput& OutputContext::loss() { return state_->loss; }

nn::Module& GradientContext::model() { return *state_->model; }
Optimizer& GradientContext::optimizer() { return *state_->optimizer; }
const LossOutput& GradientContext::loss() const { return state_->loss; }

const nn::Module& StepContext::model() const { return *state_->model; }
const Optimizer& StepContext::optimizer() const { return *state_->optimizer; }
bool StepContext::step_taken() const { return state_->step_taken; }
const std::vector<double>& StepContext::learning_rates() const {
  return state_->learning_rates;
}

const std::string& EvalContext::split() const { return state_->split; }
nn::Module& EvalContext::model() { return *state_->model; }
const data::Batch& EvalContext::current_batch() const { return state_->batch; }
Value& EvalContext::prediction() { return state_->prediction; }

void EvalContext::Enter(std::unique_ptr<Scope> scope) {
  state_->scopes.push_back(std::move(scope));
}

}  // namespace slipway
