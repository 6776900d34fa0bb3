// What checkpoints cost:
//
// - how long a save holds up the thread that trains ResNet-50 (four images of
//   CIFAR's size), as a share of fifty steps;
// - the CPU time of all that the save does, as a share of that of fifty steps:
//   where no core is idle, this is what the training loses. Steps with a save
//   against steps without would measure the machine: its noise is larger;
// - a save of ResNet-50's weights (100 MB), from memory to the disk, over a
//   plain write and fsync of as many bytes.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/cross_entropy_loss.h"
#include "ATen/ops/randint.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/randn_like.h"
#include "plugins/vision_classification/models/resnet.h"
#include "tests/perf/harness.h"
#include "tests/perf/torch_optimizers.h"
#include "trainer/checkpoint/background_writer.h"
#include "trainer/checkpoint/checkpoint.h"

namespace slipway::perf {
namespace {

constexpr int kSteps = 50;
constexpr int kBatch = 4;

void Require(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status << "\n";
  std::exit(2);
}

double SecondsOf(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

class Training {
 public:
  explicit Training(std::string folder) : folder_(std::move(folder)) {
    using vision_classification::ResNetBlock;
    using vision_classification::ResNetStem;
    model_ = vision_classification::ResNet({.block = ResNetBlock::kBottleneck,
                                            .stem = ResNetStem::kCifar,
                                            .blocks = {3, 4, 6, 3},
                                            .classes = 1000});
    std::vector<at::Tensor> parameters;
    for (const auto& [name, parameter] : model_->NamedParameters()) {
      parameters.push_back(parameter);
      // torch::optim's own cannot be reached; the values do not matter.
      state_.optimizer.push_back(
          {name, {{"momentum_buffer", at::randn_like(parameter)}}});
    }
    step_ = TorchSgd(parameters);
    state_.net = model_->StateDict();
  }

  // Of all threads.
  double CpuSecondsOfSave() {
    return CpuTimeOf([&] {
      Save();
      Require(writer_.Wait());
    });
  }

  double CpuSecondsOfSteps() {
    return CpuTimeOf([&] { Steps(); });
  }

  // What one save takes of the training's own thread.
  double SecondsHeldUp() {
    const double seconds = SecondsOf([&] { Save(); });
    Require(writer_.Wait());
    return seconds;
  }

  double SecondsOfSteps() {
    return SecondsOf([&] { Steps(); });
  }

 private:
  void Steps() {
    for (int i = 0; i < kSteps; ++i) Step();
  }

  void Step() {
    const at::Tensor prediction = model_->Run(images_);
    at::cross_entropy_loss(prediction, targets_).backward();
    step_();
    for (const auto& [name, parameter] : model_->NamedParameters()) {
      parameter.mutable_grad().reset();
    }
  }

  void Save() {
    std::vector<SaveJob> jobs(1);
    jobs[0].tree = CheckpointTree(state_, jobs[0].tensors);
    jobs[0].files = {{folder_ + "/ckpt_latest.pth", Replaced::kPrevious}};
    Require(writer_.Start(std::move(jobs)));
  }

  std::string folder_;
  std::unique_ptr<nn::Module> model_;
  std::function<void()> step_;
  Checkpoint state_;
  BackgroundWriter writer_;
  at::Tensor images_ = at::randn({kBatch, 3, 32, 32});
  at::Tensor targets_ = at::randint(1000, {kBatch});
};

// --- the disk ----------------------------------------------------------------

// Tensors of ResNet-50's sizes.
std::vector<nn::NamedTensor> Weights() {
  using vision_classification::ResNetBlock;
  return vision_classification::ResNet({.block = ResNetBlock::kBottleneck,
                                        .blocks = {3, 4, 6, 3},
                                        .classes = 1000})
      ->StateDict();
}

double SaveSeconds(const Checkpoint& checkpoint, const std::string& path) {
  std::filesystem::remove(path);
  return SecondsOf([&] { Require(WriteCheckpoint(checkpoint, path)); });
}

double PlainSeconds(const std::string& bytes, const std::string& path) {
  std::filesystem::remove(path);
  return SecondsOf([&] {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
      if (n <= 0) std::abort();
      done += static_cast<size_t>(n);
    }
    if (fsync(fd) != 0 || close(fd) != 0) std::abort();
  });
}

// Of the disk under the working directory; /tmp may be memory.
std::string Folder() {
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  std::string folder =
      std::string(directory != nullptr ? directory : ".") + "/saving.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::cerr << "cannot write to the working directory\n";
    std::exit(2);
  }
  return folder;
}

}  // namespace
}  // namespace slipway::perf

int main(int argc, char** argv) {
  using namespace slipway::perf;  // NOLINT: the program's own
  Benchmark benchmark("saving", "seconds");
  if (!benchmark.ParseArguments(argc, argv)) return 2;
  const std::string folder = Folder();
  {
    slipway::Checkpoint weights;
    weights.net = Weights();
    const std::string bytes(102 << 20, 'x');
    benchmark.Compare({"save of 100 MB", "write and fsync",
                       [&] { return SaveSeconds(weights, folder + "/a"); },
                       [&] { return PlainSeconds(bytes, folder + "/b"); },
                       1 / 0.7});
  }
  {
    Training training(folder);
    benchmark.Compare({"50 steps held up by a save", "50 steps",
                       [&] { return training.SecondsHeldUp(); },
                       [&] { return training.SecondsOfSteps(); }, 0.01});
    benchmark.Compare({"a save (CPU)", "50 steps (CPU)",
                       [&] { return training.CpuSecondsOfSave(); },
                       [&] { return training.CpuSecondsOfSteps(); }, 0.01});
  }
  std::filesystem::remove_all(folder);
  return benchmark.Finish(std::cout);
}
