// What all optimizers here share: state by parameter, gradients made fit for
// kernels that check nothing, loading by name.
//
//   class Sgd : public StateOptimizer {
//    public:
//     Sgd(std::vector<ParameterGroup> groups, SgdOptions options)
//         : StateOptimizer(std::move(groups), {{"momentum_buffer"}}, 1e-4) {}
//
//    protected:
//     void Update(const Work& work) override {
//       at::_fused_sgd_(work.parameters, work.gradients, work.state[0], ...);
//     }
//   };
//
// A fused kernel walks through raw memory: parameter, gradient and state must
// have the same type and strides, or it computes garbage without an error.
// Step() sees to that: it copies gradients that are expanded, of another layout
// or of another type, and lays state out anew where a parameter's layout has
// changed since. State appears with a parameter's first gradient.
//
// Where an optimizer overrides NumbersOf and UpdateByNumbers, too, it can be
// part of a compiled step (trainer/plugin/step_update.h): a compiler knows no
// fused kernels, and makes one of plain operations.
#ifndef SLIPWAY_PLUGINS_OPTIM_STATE_OPTIMIZER_H_
#define SLIPWAY_PLUGINS_OPTIM_STATE_OPTIMIZER_H_

#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/plugin/context.h"
#include "trainer/plugin/optimizer.h"
#include "trainer/plugin/step_update.h"

namespace slipway::optim {

// A tensor that an optimizer keeps for each parameter.
struct StateField {
  enum class Kind {
    kLikeParameter,  // shape, type, strides and device are the parameter's
    kScalar,         // float[] on the parameter's device
    kHostScalar,     // float[] on the CPU
  };
  std::string name;
  Kind kind = Kind::kLikeParameter;
  double initial = 0;
};

class StateOptimizer : public Optimizer, public StepUpdate {
 public:
  // `weight_decay` is that of groups which set none.
  StateOptimizer(std::vector<ParameterGroup> groups,
                 std::vector<StateField> fields, double weight_decay);

  // FAILED_PRECONDITION, before anything has changed, for a parameter that is a
  // view with gaps and for a sparse gradient.
  absl::Status Step(const std::vector<double>& learning_rates) final;
  std::vector<std::pair<std::string, OptimizerState>> State() const final;
  // A parameter without an entry starts afresh.
  absl::Status LoadState(
      const std::vector<std::pair<std::string, OptimizerState>>& state) final;

  absl::StatusOr<std::vector<nn::NamedTensor>> UpdatedTensors() final;
  absl::StatusOr<std::vector<double>> StepNumbers(
      const StepContext& context,
      const std::vector<double>& learning_rates) final;
  void Update(const std::vector<at::Tensor>& numbers) final;
  void TookStep() final;

 protected:
  // Parameters of one group that have gradients; the lists are parallel.
  struct Work {
    std::vector<at::Tensor> parameters;
    std::vector<at::Tensor> gradients;
    // By field, then by parameter.
    std::vector<std::vector<at::Tensor>> state;
    double learning_rate = 0;
    double weight_decay = 0;
    // The state is new in this step.
    bool first_step = false;
  };

  // Looks at the whole step before its first Update.
  virtual void Prepare(const std::vector<Work>& step) {}
  // Takes the step of these parameters; gradients are recorded nowhere.
  virtual void Update(const Work& work) = 0;

  // What differs from step to step: of a group with this rate, whose parameters
  // have taken `steps` steps before. Empty: not to be compiled.
  virtual std::vector<double> NumbersOf(double learning_rate, double steps,
                                        double weight_decay) const {
    return {};
  }
  // Update, in plain operations and with those numbers in the rate's place.
  virtual void UpdateByNumbers(const Work& work,
                               const std::vector<at::Tensor>& numbers) const {}

 private:
  // One parameter, with a tensor per field or, before its first step, none.
  struct Slot {
    std::string name;
    at::Tensor parameter;
    std::vector<at::Tensor> state;
  };

  double WeightDecayOf(size_t group) const;
  // How many steps the group's parameters have taken; 0 where nothing counts
  // them. FAILED_PRECONDITION if some have taken more than others.
  absl::StatusOr<double> StepsOf(size_t group) const;
  absl::Status CollectGroup(size_t group, double learning_rate,
                            std::vector<Work>& step);
  void PrepareState(Slot& slot) const;
  at::Tensor MakeState(const StateField& field, const Slot& slot) const;
  // Appends what does not fit in a loaded entry.
  void CheckEntry(const Slot& slot, const OptimizerState& entry,
                  std::vector<std::string>& wrong) const;
  // Fills a slot with an entry that fits.
  void LoadEntry(Slot& slot, const OptimizerState& entry) const;
  // Null if there is none.
  Slot* FindSlot(const std::string& name);

  std::vector<StateField> fields_;
  double weight_decay_;
  std::vector<std::vector<Slot>> slots_;  // by group
};

// Whether walking through memory visits the elements of `a` and `b` in the same
// order: equal sizes and, where a dimension has more than one element, strides.
bool SameLayout(const at::Tensor& a, const at::Tensor& b);

// `tensor` itself if it has the type and layout of `like`, else a copy that
// does.
at::Tensor FitTo(const at::Tensor& tensor, const at::Tensor& like);

}  // namespace slipway::optim

#endif  // SLIPWAY_PLUGINS_OPTIM_STATE_OPTIMIZER_H_
