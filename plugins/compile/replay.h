// Compiled code whose kernels are launched as one CUDA graph: the mode
// reduce-overhead.
//
//   Replay replay(code, /*returned=*/1);
//   outputs = replay.Run(inputs);      // as code(inputs)
//
// The first runs are the code's own. Then one is recorded, and replayed from
// there on: launching it costs a few microseconds, however many kernels it has.
// A graph reads and writes at fixed addresses. An input that lies elsewhere in
// each run is copied to where the graph reads it; parameters and what is
// updated in place are used where they are. The first `returned` outputs are
// copied out; the others, which a backward pass takes, are the graph's own
// memory, and while somebody holds one of them, the code runs by itself
// instead.
//
// Batches of another shape run by themselves, too. On a CPU, and in a build
// without --config=cuda, everything does. One thread's.
#ifndef SLIPWAY_PLUGINS_COMPILE_REPLAY_H_
#define SLIPWAY_PLUGINS_COMPILE_REPLAY_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "ATen/core/Tensor.h"

namespace slipway::compile {

class Replay {
 public:
  using Code = std::function<std::vector<at::Tensor>(std::vector<at::Tensor>)>;

  Replay(Code code, size_t returned);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // Throws what the code throws.
  std::vector<at::Tensor> Run(std::vector<at::Tensor> inputs);

 private:
  struct Recording;

  std::vector<at::Tensor> Plainly(std::vector<at::Tensor> inputs);
  void NoteWhatMoves(const std::vector<at::Tensor>& inputs);
  void Record(const std::vector<at::Tensor>& inputs);

  Code code_;
  size_t returned_;
  int runs_ = 0;
  int recordings_ = 0;
  // By input: where it was in the last run, and whether it has moved since the
  // first.
  std::vector<const void*> addresses_;
  std::vector<bool> moves_;
  std::unique_ptr<Recording> recording_;  // null: none, or none that is right
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_REPLAY_H_
