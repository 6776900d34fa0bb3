// Compiled graphs, one for each shape of batch that comes often enough.
//
//   GraphsByShape graphs(setup);
//   CompiledGraph* const graph = graphs.For(inputs, [&] {
//     return CaptureForward(forward, inputs, batch);
//   });
//   if (graph == nullptr) ...   // eagerly
//
// The first shape is compiled at once, another one when it repeats; sizes of
// the batch dimension are one shape, as a rule. Beyond some shapes, which one
// outcome says, no more are compiled. Several ranks compile the first one only:
// they meet in it. Belongs to the training thread.
#ifndef SLIPWAY_PLUGINS_COMPILE_GRAPHS_BY_SHAPE_H_
#define SLIPWAY_PLUGINS_COMPILE_GRAPHS_BY_SHAPE_H_

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "plugins/compile/capture.h"
#include "plugins/compile/compiled_graph.h"
#include "plugins/compile/inputs.h"
#include "plugins/compile/outcome.h"

namespace slipway::compile {

class GraphsByShape {
 public:
  // Borrowed.
  explicit GraphsByShape(const GraphSetup& setup) : setup_(setup) {}

  // The graph of such inputs, which begins with `capture` if there is none yet
  // and one is due; null: none.
  CompiledGraph* For(const Inputs& inputs,
                     const std::function<absl::StatusOr<Capture>()>& capture);

  // Those that are new.
  std::vector<Outcome> TakeOutcomes();

 private:
  CompiledGraph* Find(const Inputs& inputs);
  bool IsDue(const Inputs& inputs);

  const GraphSetup& setup_;
  std::vector<std::unique_ptr<CompiledGraph>> graphs_;
  std::set<std::string> seen_;    // shapes without a graph
  std::optional<Outcome> limit_;  // to be told
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_GRAPHS_BY_SHAPE_H_
