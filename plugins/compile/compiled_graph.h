// One graph's life: captured, compiled while training goes on, tried on a real
// batch, and kept where it is right and faster.
//
//   CompiledGraph graph(setup, CaptureForward(forward, inputs, batch), inputs);
//   ...
//   if (graph.Fits(inputs)) {
//     const Package* const package = graph.Ready(make_trial);
//     output = package == nullptr
//                  ? forward(batch)
//                  : graph.Unflatten(package->Run(inputs.tensors()));
//   }
//   if (const std::optional<Outcome> outcome = graph.TakeOutcome())
//   Log(*outcome);
//
// Belongs to the training thread.
#ifndef SLIPWAY_PLUGINS_COMPILE_COMPILED_GRAPH_H_
#define SLIPWAY_PLUGINS_COMPILE_COMPILED_GRAPH_H_

#include <functional>
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
#include "trainer/nn/value.h"

namespace slipway::compile {

struct GraphSetup {
  const Options& options;
  // "train": with a backward pass; "valid": without.
  std::string graph = "train";
  // "model" or "step".
  std::string scope = "model";
  // Ranks decide together, and so wait for their compilers.
  Peers* peers = nullptr;
  // A resumed training goes on with this one, unless it is not to be had:
  // "plain", "layout" or "eager"; empty: the fastest.
  std::string candidate;

  bool differentiate() const { return graph == "train" && scope == "model"; }
  // No batch is trained on before there is an outcome.
  bool waits() const {
    return options.wait || !candidate.empty() ||
           (peers != nullptr && !peers->alone());
  }
};

class CompiledGraph {
 public:
  // A trial of the graph on the batch at hand; null: another batch is needed.
  using MakeTrial =
      std::function<std::unique_ptr<Trial>(const TrialOptions& options)>;

  // Begins to compile what was captured from `inputs`. What fails is an
  // outcome.
  CompiledGraph(const GraphSetup& setup, absl::StatusOr<Capture> capture,
                const Inputs& inputs);

  // Whether it was captured from inputs of these types.
  bool Fits(const Inputs& inputs) const;

  // The code that is used: null until there is an outcome, and after one that
  // says eager. Throws what the trial does.
  const Package* Ready(const MakeTrial& make_trial);

  // The captured output's structure around what the code returns; more tensors
  // than it has are left out.
  Value Unflatten(std::vector<at::Tensor> outputs) const;

  // Once, as soon as there is one.
  std::optional<Outcome> TakeOutcome();

 private:
  struct Candidate {
    std::string name;
    std::unique_ptr<Compilation> compilation;
    std::unique_ptr<Package> package;
    absl::Status status;
  };

  void Begin(const Inputs& inputs);
  bool CompilersAreDone();
  void Decide(const MakeTrial& make_trial);
  void LoadAll();
  void VerifyAll(Trial& trial);
  // What is good here alone fails with `elsewhere`.
  void Agree(Candidate& candidate, const absl::Status& elsewhere);
  void Choose(Trial& trial);
  void Keep(Candidate& candidate);
  void Fail(const absl::Status& status);
  std::vector<Candidate*> Good();
  absl::Status FirstFailure() const;

  const GraphSetup& setup_;
  Capture capture_;
  // Sizes of the batch that are this graph's; nullopt: the captured one.
  std::optional<BatchSizes> batch_sizes_;
  std::vector<Candidate> candidates_;
  bool loaded_ = false;
  bool decided_ = false;
  std::unique_ptr<Package> package_;  // null: eager
  Outcome outcome_;
  bool outcome_is_new_ = false;
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_COMPILED_GRAPH_H_
