// Makes a training loop of your own one of several ranks: what BigDL-Nano's
// TorchNano.setup and @nano do, for C++. The loop stays as it was for one
// process; from inside it takes two lines more,
//
//   absl::Status Train(nn::Module& model,
//                      std::unique_ptr<Optimizer>& optimizer,
//                      data::Loader& batches, int epochs) {
//     auto ranks = dist::Prepare(model, {&optimizer}, {&batches});
//     if (!ranks.ok()) return ranks.status();
//     for (...) { ... loss.backward(); ... optimizer->Step(rates); ... }
//   }
//
// and from outside none at all:
//
//   dist::Wrap(Train)(*model, optimizer, *batches, 3);
//
// From then on
// - the model, and the optimizers' state, are rank 0's;
// - each backward pass leaves the mean of all ranks' gradients. Every rank runs
//   as many of them; errors are thrown out of them as c10::Error;
// - an optimizer's Step() makes the ranks' buffers one (running statistics of
//   batch normalisation), raises the learning rates (auto_lr), and is the sign
//   of life that the launcher's watchdog waits for;
// - loaders deal out to each rank its share of the samples. Their batch_size is
//   a rank's: with P ranks a step sees P times the samples.
//
// Who this process is it learns from its environment (environment.h):
// //launcher, launcher::Spawn and torchrun set it. In a world of one nothing
// changes.
#ifndef SLIPWAY_TRAINER_DIST_PREPARE_H_
#define SLIPWAY_TRAINER_DIST_PREPARE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/data/loader.h"
#include "trainer/dist/buffer_sync.h"
#include "trainer/dist/process_group.h"
#include "trainer/nn/module.h"
#include "trainer/plugin/optimizer.h"

namespace slipway::dist {

struct PrepareOptions {
  // Step k (from 0) multiplies every learning rate by
  //   1 + (world_size - 1) * min(k / auto_lr_steps, 1),
  // which is TorchNano's formula. Unset: as SLIPWAY_AUTO_LR says, and off
  // without it.
  std::optional<bool> auto_lr = {};
  int64_t auto_lr_steps = 1000;
  BufferPolicy buffers = BufferPolicy::kReduce;
};

// What makes this process a rank. It must be there while the loop runs; the
// prepared optimizers keep of it what they need.
class Ranks {
 public:
  virtual ~Ranks();
  // For collectives.h: sums of losses and metrics, say.
  virtual ProcessGroup& group() = 0;
  int rank() { return group().rank(); }
  int world_size() { return group().world_size(); }
  // What an optimizer's step `step`, from 0, multiplies learning rates by.
  virtual double RateFactor(int64_t step) const = 0;
};

// `model` is on its device already. Each of `optimizers` is replaced by one
// around it, whose State() has one entry more, "auto_lr": how many steps were
// taken. LoadState() takes states with and without it. Once per process, on
// every rank.
//
// INVALID_ARGUMENT for an environment that makes no sense, and, naming what and
// which rank, where models, optimizers or loaders are not alike on all ranks;
// else ProcessGroup's errors.
absl::StatusOr<std::unique_ptr<Ranks>> Prepare(
    nn::Module& model,
    const std::vector<std::unique_ptr<Optimizer>*>& optimizers,
    const std::vector<data::Loader*>& loaders,
    const PrepareOptions& options = {});

// The same among the ranks of `group`, which is connected and outlives what is
// prepared: for a program that prepares more than one training.
absl::StatusOr<std::unique_ptr<Ranks>> Prepare(
    ProcessGroup& group, nn::Module& model,
    const std::vector<std::unique_ptr<Optimizer>*>& optimizers,
    const std::vector<data::Loader*>& loaders,
    const PrepareOptions& options = {});

// A training loop that prepares the model (nn::Module&), the optimizers
// (std::unique_ptr<Optimizer>&) and the loaders (data::Loader&) among its
// arguments before it runs. The loop returns an absl::Status.
template <typename Loop>
class Wrapped {
 public:
  Wrapped(Loop loop, PrepareOptions options)
      : loop_(std::move(loop)), options_(options) {}

  template <typename... Arguments>
  absl::Status operator()(Arguments&&... arguments) const {
    Parts parts;
    (parts.Add(arguments), ...);
    static_assert(
        (std::is_base_of_v<nn::Module, std::decay_t<Arguments>> + ... + 0) == 1,
        "a wrapped loop has one model, nn::Module&");
    const absl::StatusOr<std::unique_ptr<Ranks>> ranks =
        Prepare(*parts.model, parts.optimizers, parts.loaders, options_);
    if (!ranks.ok()) return ranks.status();
    return loop_(std::forward<Arguments>(arguments)...);
  }

 private:
  struct Parts {
    nn::Module* model = nullptr;
    std::vector<std::unique_ptr<Optimizer>*> optimizers;
    std::vector<data::Loader*> loaders;

    template <typename T>
    void Add(T& argument) {
      if constexpr (std::is_base_of_v<nn::Module, T>) {
        model = &argument;
      } else if constexpr (std::is_same_v<std::unique_ptr<Optimizer>, T>) {
        optimizers.push_back(&argument);
      } else if constexpr (std::is_base_of_v<data::Loader, T>) {
        loaders.push_back(&argument);
      }
    }
  };

  Loop loop_;
  PrepareOptions options_;
};

template <typename Loop>
Wrapped<Loop> Wrap(Loop loop, PrepareOptions options = {}) {
  return {std::move(loop), options};
}

}  // namespace slipway::dist

#endif  // SLIPWAY_TRAINER_DIST_PREPARE_H_
