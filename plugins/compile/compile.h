// The plugin compile: training steps as compiled code, where that is right and
// faster.
//
// What is compiled is the whole step where nothing else has to happen in it, or
// the model's forward and backward (`scope`). It is captured at the first batch
// and compiled by a process of its own while training goes on eagerly. When the
// code is there it is compared with eager, timed against it, and takes its
// place between two batches. Evaluation has a graph of its own. What was chosen
// is in the log (compile_ready, compile_fallback), in result.json and in
// checkpoints: a resumed training waits for the same code. Whatever fails,
// training goes on eagerly with one warning, unless `required` makes it an
// error.
//
// Several ranks wait for the compiler and swap in the first step, all to what
// rank 0 found fastest.
#ifndef SLIPWAY_PLUGINS_COMPILE_COMPILE_H_
#define SLIPWAY_PLUGINS_COMPILE_COMPILE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plugins/compile/compiled_forward.h"
#include "plugins/compile/compiled_step.h"
#include "plugins/compile/options.h"
#include "plugins/compile/peers.h"
#include "trainer/plugin/plugin.h"
#include "trainer/plugin/whole_step.h"

namespace slipway::compile {

class Compile : public Plugin {
 public:
  // `config` is the manifest's. INVALID_ARGUMENT lists what is wrong with it.
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(
      const recipe::Node& config);

  explicit Compile(Options options);

  absl::Status Configure(ConfigureContext& context) override;
  absl::Status WrapForward(WrapContext& context) override;
  absl::Status FitBegin(FitContext& context) override;
  absl::Status StepEnd(StepContext& context) override;
  absl::Status EvalForward(EvalContext& context) override;
  absl::Status EvalEnd(EvalContext& context) override;
  absl::Status FitEnd(FitContext& context) override;
  absl::StatusOr<PluginState> SaveState() override;
  absl::Status LoadState(int version, const PluginState& state) override;

 private:
  absl::Status ChooseScope(WrapContext& context);
  Value RunTraining(const nn::Module::ForwardFunction& next,
                    const Value& batch);
  absl::Status RunStep(WholeStepContext& context);
  absl::Status TellTraining(Context& context, std::vector<Outcome> outcomes);
  absl::Status Tell(Context& context, Outcome outcome);

  Options options_;
  nn::Module* model_ = nullptr;
  std::optional<Peers> peers_;
  // What is in use, once the training has begun: step_, or else train_.
  bool whole_step_ = false;
  bool with_loss_ = false;
  GraphSetup step_setup_;
  GraphSetup train_setup_;
  GraphSetup valid_setup_;
  std::optional<CompiledStep> step_;
  std::optional<CompiledForward> train_;
  std::optional<CompiledForward> valid_;
  // Of the first training graph.
  std::optional<Outcome> outcome_;
  // What a checkpoint has said, and from which step on.
  std::string saved_candidate_;
  int64_t saved_since_ = 0;
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_COMPILE_H_
