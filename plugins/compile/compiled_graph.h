// One graph's life: captured, compiled while training goes on, tried on a real
// batch, and kept where it is right and faster.
//
//   CompiledGraph graph(setup, forward, inputs, batch);
//   ...
//   if (graph.Fits(inputs)) output = graph.Run(forward, inputs, batch);
//   if (const std::optional<Outcome> outcome = graph.TakeOutcome())
//   Log(*outcome);
//
// Until there is an outcome, and after a bad one, Run is the model's own
// forward. Belongs to the training thread.
#ifndef SLIPWAY_PLUGINS_COMPILE_COMPILED_GRAPH_H_
#define SLIPWAY_PLUGINS_COMPILE_COMPILED_GRAPH_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "plugins/compile/capture.h"
#include "plugins/compile/compilation.h"
#include "plugins/compile/inputs.h"
#include "plugins/compile/options.h"
#include "plugins/compile/outcome.h"
#include "plugins/compile/package.h"
#include "plugins/compile/peers.h"
#include "plugins/compile/trial.h"
#include "trainer/nn/module.h"
#include "trainer/nn/value.h"

namespace slipway::compile {

struct GraphSetup {
  const Options& options;
  // "train": with a backward pass; "valid": without.
  std::string graph = "train";
  // Ranks decide together, and so wait for their compilers.
  Peers* peers = nullptr;
  // A resumed training goes on with this one, unless it is not to be had:
  // "plain", "layout" or "eager"; empty: the fastest.
  std::string candidate;

  bool differentiate() const { return graph == "train"; }
  // No batch is trained on before there is an outcome.
  bool waits() const {
    return options.wait || !candidate.empty() ||
           (peers != nullptr && !peers->alone());
  }
};

class CompiledGraph {
 public:
  // Captures `forward` on a batch, the last of `inputs`, and begins to compile.
  // Nothing is thrown: what fails is an outcome.
  CompiledGraph(const GraphSetup& setup,
                const nn::Module::ForwardFunction& forward,
                const Inputs& inputs, const Value& batch);

  // Whether it was captured from inputs of these types.
  bool Fits(const Inputs& inputs) const;

  // `forward(batch)`, one way or the other. Throws what that throws.
  Value Run(const nn::Module::ForwardFunction& forward, const Inputs& inputs,
            const Value& batch);

  // Once, as soon as there is one.
  std::optional<Outcome> TakeOutcome();

 private:
  struct Candidate {
    std::string name;
    std::unique_ptr<Compilation> compilation;
    std::unique_ptr<Package> package;
    absl::Status status;
  };
  struct Call;

  void Begin(const Inputs& inputs);
  bool CompilersAreDone();
  void Decide(const Call& call);
  void LoadAll();
  void VerifyAll(Trial& trial);
  void Choose(Trial& trial, const Trial::Forward& eager);
  void Keep(Candidate& candidate);
  void Fail(const absl::Status& status);
  std::vector<Candidate*> Good();
  absl::Status FirstFailure() const;

  const GraphSetup& setup_;
  Capture capture_;
  // Sizes of the batch that are this graph's; nullopt: the captured one.
  std::optional<BatchSizes> batch_sizes_;
  std::vector<Candidate> candidates_;
  bool decided_ = false;
  std::unique_ptr<Package> package_;  // null: eager
  Outcome outcome_;
  bool outcome_is_new_ = false;
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_COMPILED_GRAPH_H_
