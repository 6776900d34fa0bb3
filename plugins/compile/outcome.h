// What became of a graph: what the log and result.json say.
#ifndef SLIPWAY_PLUGINS_COMPILE_OUTCOME_H_
#define SLIPWAY_PLUGINS_COMPILE_OUTCOME_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/recipe/node.h"

namespace slipway::compile {

struct Outcome {
  // "train" or "valid": which of the model's modes was captured.
  std::string graph;
  // "model", or "step": with loss, optimizer and averages.
  std::string scope = "model";
  // What computes it from now on: "plain" or "layout" (the compiler may choose
  // other strides than the model's), or "eager".
  std::string candidate = "eager";
  // How many times as fast as eager.
  double speedup = 1;
  // Of a pass over a batch, by candidate.
  std::vector<std::pair<std::string, double>> seconds;
  // Of tensors that the pass makes, the most there are at once.
  std::vector<std::pair<std::string, int64_t>> peak_bytes;
  double compile_seconds = 0;
  std::string cache = "fallback";  // hit, built or fallback
  // Why it is eager, or is so still.
  std::string reason;
  int64_t nodes = 0;  // operations
  int64_t step = 0;   // from which on

  // It cannot be compiled, whatever this machine has.
  bool unsuitable = false;

  bool compiled() const { return candidate != "eager"; }
  // Nothing could be compiled, as against: nothing was faster.
  bool failed() const { return cache == "fallback"; }
};

recipe::Node ToNode(const Outcome& outcome);

// "compiled (plain): 1.31 times as fast as eager, ..." for people.
std::string ToText(const Outcome& outcome);

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_OUTCOME_H_
