// Training on several processes, way B: a training loop that knows nothing of
// them, wrapped.
//
//   bazel run //tests/examples:train_function           (spawn: two processes)
//   bazel run //launcher -- --num_processes=2 --
//       $(pwd)/bazel-bin/tests/examples/train_function  (subprocess)
#include <unistd.h>

#include <iostream>
#include <memory>

#include "ATen/ops/cross_entropy_loss.h"
#include "absl/strings/str_cat.h"
#include "launcher/spawn/spawn.h"
#include "tests/examples/digits.h"
#include "trainer/dist/prepare.h"
#include "trainer/report/progress.h"

using namespace slipway;  // NOLINT: an example shows what it is about

absl::Status TrainingLoop(nn::Module& model,
                          std::unique_ptr<Optimizer>& optimizer,
                          data::Loader& train_loader, int num_epochs) {
  for (int epoch = 0; epoch < num_epochs; ++epoch) {
    model.Train();
    double train_loss = 0;
    int64_t samples = 0, num = 0;
    Progress progress(std::cerr, ConsoleOptionsFor(STDERR_FILENO),
                      absl::StrCat("Epoch ", epoch), train_loader.size());
    const std::unique_ptr<data::Epoch> batches = train_loader.Begin(epoch);
    while (true) {
      const auto batch = batches->Next();
      if (!batch.ok()) return batch.status();
      if (!batch->has_value()) break;
      optimizer->ZeroGrad();
      const at::Tensor output = model.Run((*batch)->input.tensor());
      const at::Tensor loss =
          at::cross_entropy_loss(output, (*batch)->target.tensor());
      loss.backward();
      absl::Status status = optimizer->Step({0.1});
      if (!status.ok()) return status;
      train_loss += loss.item().toDouble();
      samples += (*batch)->size();
      ++num;
      progress.Advance({{"loss", loss.item().toDouble()}});
    }
    std::cout << "Train Epoch: " << epoch << ", " << samples
              << " samples, avg_loss: " << train_loss / num << "\n";
  }
  return absl::OkStatus();
}

absl::Status TrainDigits(const launcher::Rank& rank) {
  const std::unique_ptr<nn::Module> model = DigitsNet();
  std::unique_ptr<Optimizer> optimizer = DigitsOptimizer(*model);
  const std::unique_ptr<data::Loader> loader = DigitsLoader();
  absl::Status status = dist::Wrap(TrainingLoop)(*model, optimizer, *loader, 2);
  std::cout << absl::StrCat("rank ", rank.rank, " of ", rank.world_size,
                            ": weights ", Fingerprint(*model), "\n");
  return status;
}

int main() {
  return launcher::ExitCode(launcher::Spawn({.num_processes = 2}, TrainDigits));
}
