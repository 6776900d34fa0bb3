// Training on several processes, way A: a class with a method that trains.
//
//   bazel run //tests/examples:train_class           (spawn: two processes)
//   bazel run //launcher -- --num_processes=2 --
//       $(pwd)/bazel-bin/tests/examples/train_class  (subprocess)
//
// Two lines of Train() make its loop one of several ranks.
#include <unistd.h>

#include <iostream>
#include <memory>

#include "ATen/ops/cross_entropy_loss.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "launcher/spawn/spawn.h"
#include "tests/examples/digits.h"
#include "trainer/dist/prepare.h"
#include "trainer/report/progress.h"

using namespace slipway;  // NOLINT: an example shows what it is about

class MyTraining {
 public:
  absl::Status Train(int num_epochs) {
    const auto ranks = dist::Prepare(*model_, {&optimizer_}, {loader_.get()});
    if (!ranks.ok()) return ranks.status();
    for (int epoch = 0; epoch < num_epochs; ++epoch) {
      if (absl::Status status = TrainEpoch(epoch); !status.ok()) return status;
    }
    std::cout << absl::StreamFormat(
        "rank %d of %d: rates times %.3f, weights %s\n", (*ranks)->rank(),
        (*ranks)->world_size(), (*ranks)->RateFactor(num_epochs * 23),
        Fingerprint(*model_));
    return absl::OkStatus();
  }

 private:
  absl::Status TrainEpoch(int epoch) {
    model_->Train();
    double train_loss = 0;
    int64_t samples = 0, num = 0;
    Progress progress(std::cerr, ConsoleOptionsFor(STDERR_FILENO),
                      absl::StrCat("Epoch ", epoch), loader_->size());
    const std::unique_ptr<data::Epoch> batches = loader_->Begin(epoch);
    while (true) {
      const auto batch = batches->Next();
      if (!batch.ok()) return batch.status();
      if (!batch->has_value()) break;
      optimizer_->ZeroGrad();
      const at::Tensor output = model_->Run((*batch)->input.tensor());
      const at::Tensor loss =
          at::cross_entropy_loss(output, (*batch)->target.tensor());
      loss.backward();
      absl::Status status = optimizer_->Step({0.1});
      if (!status.ok()) return status;
      train_loss += loss.item().toDouble();
      samples += (*batch)->size();
      ++num;
      progress.Advance({{"loss", loss.item().toDouble()}});
    }
    std::cout << "Train Epoch: " << epoch << ", " << samples
              << " samples, avg_loss: " << train_loss / num << "\n";
    return absl::OkStatus();
  }

  const std::unique_ptr<nn::Module> model_ = DigitsNet();
  const std::unique_ptr<data::Loader> loader_ = DigitsLoader();
  std::unique_ptr<Optimizer> optimizer_ = DigitsOptimizer(*model_);
};

int main() {
  return launcher::ExitCode(launcher::Spawn(
      {.num_processes = 2},
      [](const launcher::Rank&) { return MyTraining().Train(2); }));
}
