#include "plugins/testing/fake_host.h"

#include <string_view>

#include "plugins/testing/small_training.h"
#include "trainer/data/loader.h"

namespace slipway::testing {
namespace {

constexpr int64_t kBatchSize = 8;

data::Batch FirstBatch() {
  data::LoaderParts parts;
  parts.dataset = SmallImages(kBatchSize);
  data::Loader loader(std::move(parts), {.batch_size = kBatchSize});
  return **loader.Begin(0)->Next();
}

}  // namespace

FakeHost::FakeHost() : model_(SmallNet()), loss_(SmallLoss()) {
  ParameterGroup group;
  group.name = "default";
  group.parameters = model_->NamedParameters();
  group.initial_lr = 0.05;
  optimizer_ = SmallOptimizer({group});
  state_.groups = {group};
  state_.max_epochs = 2;
  state_.batches_per_epoch = state_.steps_per_epoch = 4;
  state_.total_steps = 8;
  state_.recipe = recipe::Node::Map();
  state_.model = model_.get();
  state_.loss_function = loss_.get();
  state_.optimizer = optimizer_.get();
  state_.batch = FirstBatch();
  state_.learning_rates = {group.initial_lr};
  state_.split = "valid";
  state_.report = [this](Problem problem) {
    problems_.push_back(std::move(problem));
  };
  state_.tell = [this](std::string_view name, recipe::Node detail) {
    events_.emplace_back(std::string(name), std::move(detail));
  };
}

void FakeHost::Backward() {
  state_.prediction = state_.RunModel(state_.batch.input);
  state_.loss = *loss_->Compute(state_.prediction, state_.batch.target);
  state_.loss.total.backward();
}

void FakeHost::Step(double rate, bool taken) {
  state_.learning_rates.assign(state_.groups.size(), rate);
  state_.step_taken = taken;
  if (taken) {
    optimizer_->Step(state_.learning_rates).IgnoreError();
    ++state_.step;
  }
  optimizer_->ZeroGrad();
}

void FakeHost::LeaveScopes() {
  while (!state_.scopes.empty()) state_.scopes.pop_back();
}

const recipe::Node* FakeHost::Result(const std::string& name) const {
  const auto found = state_.results.find(name);
  return found == state_.results.end() ? nullptr : &found->second;
}

}  // namespace slipway::testing
