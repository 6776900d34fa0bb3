// What several ranks cost and gain:
//
// - time of an epoch of digits_resnet on two ranks of a core each, bound by the
//   launcher, over one process with two threads, 64 samples a step in both;
// - a step whose gradients travel while backward runs, over one that sends them
//   afterwards;
// - that step over the same of Python's DistributedDataParallel, where there is
//   a Python with PyTorch ($SLIPWAY_PYTHON, else python3).
#include "tests/dist/ranks.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "ATen/core/grad_mode.h"
#include "ATen/ops/randn.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/dist/programs.h"
#include "tests/e2e/process.h"
#include "tests/perf/harness.h"
#include "trainer/dist/gradient_sync.h"
#include "trainer/nn/layers/activation.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/nn/layers/shape.h"

namespace slipway::perf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRanks = 2;

[[noreturn]] void Fail(const Outcome& outcome) {
  std::cerr << outcome.err;
  std::exit(2);
}

std::string ScratchFolder() {
  std::string folder = std::filesystem::temp_directory_path() / "ranks.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) std::exit(2);
  return folder;
}

// --- an epoch ----------------------------------------------------------------

// Of a run's second epoch: the first one warms up.
double EpochSeconds(const std::string& run_dir) {
  std::istringstream text(ReadText(run_dir + "/metrics.jsonl"));
  double seconds = -1;
  for (std::string line; std::getline(text, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.value("kind", "") != "epoch" || json["split"] != "train") continue;
    seconds = json["seconds"];
  }
  return seconds;
}

std::vector<std::string> Epochs(int ranks) {
  return {"--recipe=digits_resnet",
          "--run_dir=run",
          "--progress=none",
          "epochs=2",
          "training_hyperparams.save_model=False",
          absl::StrCat("batch_size=", 64 / ranks)};
}

double EpochOf(const std::string& program,
               const std::vector<std::string>& arguments,
               const std::map<std::string, std::string>& environment = {}) {
  const std::string folder = ScratchFolder();
  const Outcome outcome =
      Process(program, arguments, folder, environment).Wait();
  const double seconds = EpochSeconds(folder + "/run");
  std::filesystem::remove_all(folder);
  if (outcome.exit_code != 0) Fail(outcome);
  return seconds;
}

double EpochOfRanks() {
  std::vector<std::string> arguments = {
      absl::StrCat("--num_processes=", kRanks), "--auto_lr=false",
      "--log_dir=logs", "--"};
  for (const std::string& argument : Epochs(kRanks)) {
    arguments.push_back(argument);
  }
  return EpochOf(RunfilePath("launcher/launcher"), arguments);
}

double EpochOfThreads() {
  return EpochOf(TrainerPath(), Epochs(1),
                 {{"OMP_NUM_THREADS", std::to_string(kRanks)}});
}

// --- a step ------------------------------------------------------------------

constexpr int kWarmUp = 3;
constexpr int kSteps = 12;
constexpr int kBatch = 16;

// Convolutions that take time and dense layers that have parameters: 4 million.
std::unique_ptr<nn::Module> Net() {
  auto convolution = [](int64_t in, int64_t out) {
    return nn::Conv2d({.in = in, .out = out, .kernel = 3, .padding = 1});
  };
  return nn::Sequential(convolution(3, 32), nn::ReLU(), convolution(32, 32),
                        nn::ReLU(), convolution(32, 16), nn::ReLU(),
                        nn::Flatten(), nn::Linear({.in = 4096, .out = 768}),
                        nn::ReLU(), nn::Linear({.in = 768, .out = 768}),
                        nn::ReLU(), nn::Linear({.in = 768, .out = 10}));
}

std::vector<at::Tensor> ParametersOf(const nn::Module& net) {
  std::vector<at::Tensor> parameters;
  for (const auto& [name, tensor] : net.NamedParameters()) {
    parameters.push_back(tensor);
  }
  return parameters;
}

// Seconds a step on rank 0.
double StepSeconds(bool overlaps, dist::ProcessGroup& group) {
  const std::unique_ptr<nn::Module> net = Net();
  const std::vector<at::Tensor> parameters = ParametersOf(*net);
  dist::GradientSync sync(group, parameters);
  const at::Tensor images = at::randn({kBatch, 3, 16, 16});
  Clock::time_point start;
  for (int step = 0; step < kWarmUp + kSteps; ++step) {
    if (step == kWarmUp) start = Clock::now();
    for (const at::Tensor& parameter : parameters) {
      parameter.mutable_grad() = at::Tensor();
    }
    const at::Tensor loss = net->Run(images).square().mean();
    if (overlaps) sync.Begin();
    loss.backward();
    if (!overlaps) sync.Begin();
    if (!sync.Finish().ok()) std::abort();
    const at::NoGradGuard no_gradients;
    for (const at::Tensor& parameter : parameters) {
      parameter.sub_(parameter.grad(), 0.001);
    }
  }
  return std::chrono::duration<double>(Clock::now() - start).count() / kSteps;
}

double Step(bool overlaps) {
  const std::vector<Ended> ranks =
      RunRanks(kRanks, [&](dist::ProcessGroup& group, std::ostream& out) {
        out << StepSeconds(overlaps, group);
      });
  double seconds = 0;
  if (!absl::SimpleAtod(ranks[0].said, &seconds)) std::exit(2);
  return seconds;
}

// --- Python's ----------------------------------------------------------------

constexpr char kPython[] = R"(
import os, sys, time
flags = sys.getdlopenflags()
sys.setdlopenflags(flags & ~os.RTLD_NOW | os.RTLD_LAZY)
import torch
import torch.distributed
torch.set_num_threads(1)
torch.distributed.init_process_group('gloo')
def convolution(inside, out):
    return torch.nn.Conv2d(inside, out, 3, padding=1)
net = torch.nn.Sequential(
    convolution(3, 32), torch.nn.ReLU(), convolution(32, 32), torch.nn.ReLU(),
    convolution(32, 16), torch.nn.ReLU(), torch.nn.Flatten(),
    torch.nn.Linear(4096, 768), torch.nn.ReLU(), torch.nn.Linear(768, 768),
    torch.nn.ReLU(), torch.nn.Linear(768, 10))
ddp = torch.nn.parallel.DistributedDataParallel(net)
images = torch.randn(BATCH, 3, 16, 16)
for step in range(WARM_UP + STEPS):
    if step == WARM_UP:
        start = time.monotonic()
    ddp.zero_grad()
    ddp(images).square().mean().backward()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.sub_(parameter.grad, alpha=0.001)
print((time.monotonic() - start) / STEPS)
)";

double PythonStep() {
  const char* python = std::getenv("SLIPWAY_PYTHON");
  const std::string folder = ScratchFolder();
  const std::string constants = absl::StrCat("BATCH, WARM_UP, STEPS = ", kBatch,
                                             ", ", kWarmUp, ", ", kSteps, "\n");
  const std::vector<Outcome> ranks =
      RunProgramRanks(kRanks, python != nullptr ? python : "/usr/bin/python3",
                      {"-c", constants + kPython}, folder);
  std::filesystem::remove_all(folder);
  double seconds = -1;
  const bool read = absl::SimpleAtod(ranks[0].out, &seconds);
  return ranks[0].exit_code == 0 && read ? seconds : -1;
}

}  // namespace
}  // namespace slipway::perf

int main(int argc, char** argv) {
  using namespace slipway::perf;  // NOLINT: the program's own
  Benchmark benchmark("ranks", "seconds");
  if (!benchmark.ParseArguments(argc, argv)) return 2;
  benchmark.Compare({"epoch, 2 ranks x 1 core", "1 process x 2 threads",
                     EpochOfRanks, EpochOfThreads, 0});
  benchmark.Compare({"step, all-reduce in backward", "after it",
                     [] { return Step(true); }, [] { return Step(false); }, 0});
  if (PythonStep() > 0) {
    benchmark.Compare(
        {"step", "Python's DDP", [] { return Step(true); }, PythonStep, 0});
  } else {
    std::cerr << "no Python with PyTorch: its DDP is not compared\n";
  }
  return benchmark.Finish(std::cout);
}
