// What the loop costs beside the work itself:
//
// - CPU time a step, with a metric on, over the same steps written by hand;
// - optimizer steps on parameters of ResNet-50's shapes, against torch::optim;
// - CPU time from the start of the trainer to its first step, against Python's
//   with PyTorch, where there is one ($SLIPWAY_PYTHON, else python3).
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "ATen/Parallel.h"
#include "ATen/core/grad_mode.h"
#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/scalar_tensor.h"
#include "tests/e2e/process.h"
#include "tests/perf/harness.h"
#include "tests/perf/torch_optimizers.h"
#include "trainer/loop/trainer.h"
#include "trainer/nn/layers/activation.h"
#include "trainer/nn/layers/conv.h"
#include "trainer/nn/layers/linear.h"
#include "trainer/nn/layers/pool.h"
#include "trainer/nn/layers/sequential.h"
#include "trainer/nn/layers/shape.h"
#include "trainer/plan/plan.h"
#include "trainer/plugin/load_plugins.h"
#include "trainer/recipe/yaml.h"

namespace slipway::perf {
namespace {

constexpr int kSteps = 400;
constexpr int kBatch = 8;

constexpr char kRecipe[] = R"(
training_hyperparams:
  max_epochs: 1
  initial_lr: 0.01
  loss: CrossEntropyLoss
  optimizer: SGD
  optimizer_params: {momentum: 0.9}
  valid_metrics_list: [Accuracy]
)";

void Require(const Problems& problems) {
  if (!HasErrors(problems)) return;
  std::cerr << FormatProblems(problems);
  std::exit(2);
}

// The plugins' losses, metrics and optimizers.
struct World {
  World() {
    recipe = *recipe::ParseYaml(kRecipe, "the benchmark", problems);
    const std::vector<plan::Manifest> manifests =
        plan::DiscoverManifests({RunfilePath("plugins")}, problems);
    const auto plan = plan::ResolvePlan(manifests, recipe,
                                        plan::DetectEnvironment(), problems);
    Require(problems);
    plugins = LoadPlugins(*plan, manifests, components, problems);
    Require(problems);
  }

  BuildArgs Args(const recipe::Node& params) {
    return {params, recipe, components, problems};
  }
  std::unique_ptr<Loss> MakeLoss() {
    return (*components.losses.Find("CrossEntropyLoss"))(Args(none));
  }
  std::unique_ptr<Metric> MakeAccuracy() {
    return (*components.metrics.Find("Accuracy"))(Args(none));
  }
  std::unique_ptr<Optimizer> MakeOptimizer(const std::string& name,
                                           std::vector<ParameterGroup> groups) {
    const recipe::Node& params =
        name == "SGD"
            ? *recipe.FindPath("training_hyperparams.optimizer_params")
            : none;
    return (*components.optimizers.Find(name))(Args(params), std::move(groups));
  }

  Problems problems;
  recipe::Node recipe;
  recipe::Node none;
  Components components;
  std::vector<RunningPlugin> plugins;
};

// --- the loop ----------------------------------------------------------------

class Noise : public data::Dataset {
 public:
  int64_t size() const override { return kSteps * kBatch; }
  absl::StatusOr<data::Sample> Get(int64_t index) const override {
    data::Sample sample;
    sample.image = image_;
    sample.target = target_;
    return sample;
  }

 private:
  at::Tensor image_ = at::randn({3, 8, 8});
  at::Tensor target_ = at::scalar_tensor(3, at::kLong);
};

std::unique_ptr<data::Loader> Batches() {
  data::LoaderParts parts;
  parts.dataset = std::make_unique<Noise>();
  data::LoaderOptions options;
  options.batch_size = kBatch;
  return std::make_unique<data::Loader>(std::move(parts), options);
}

std::unique_ptr<nn::Module> TinyNet() {
  return nn::Sequential(nn::Conv2d({.in = 3, .out = 8, .kernel = 3}),
                        nn::ReLU(), nn::AdaptiveAvgPool2d(1), nn::Flatten(),
                        nn::Linear({.in = 8, .out = 10}));
}

ParameterGroup AllParameters(const nn::Module& model) {
  ParameterGroup group;
  group.name = "default";
  group.parameters = model.NamedParameters();
  group.initial_lr = 0.01;
  return group;
}

// CPU seconds a step of the loop as one would write it.
double BareLoop(World& world) {
  const std::unique_ptr<nn::Module> model = TinyNet();
  const std::unique_ptr<data::Loader> loader = Batches();
  const std::unique_ptr<Loss> loss = world.MakeLoss();
  const std::unique_ptr<Optimizer> optimizer =
      world.MakeOptimizer("SGD", {AllParameters(*model)});
  return CpuTimeOf([&] {
           const std::unique_ptr<data::Epoch> epoch = loader->Begin(0);
           for (auto batch = epoch->Next(); batch.ok() && batch->has_value();
                batch = epoch->Next()) {
             const Value prediction = model->Run((*batch)->input);
             loss->Compute(prediction, (*batch)->target)->total.backward();
             optimizer->Step({0.01}).IgnoreError();
             optimizer->ZeroGrad();
           }
         }) /
         kSteps;
}

// The same by the trainer, with a metric of the training.
double TrainerLoop(World& world) {
  loop::TrainerParts parts;
  parts.model = TinyNet();
  parts.train_loader = Batches();
  parts.loss = world.MakeLoss();
  parts.train_metrics.push_back(world.MakeAccuracy());
  parts.make_optimizer = [&world](std::vector<ParameterGroup> groups,
                                  Problems&) {
    return world.MakeOptimizer("SGD", std::move(groups));
  };
  loop::TrainerOptions options;
  options.recipe = world.recipe;
  options.hyperparams = loop::ReadHyperparams(world.recipe, world.problems);
  const std::unique_ptr<loop::Trainer> trainer = loop::Trainer::Create(
      std::move(parts), std::move(options), world.problems);
  Require(world.problems);
  return CpuTimeOf([&] {
           if (trainer->Fit().steps != kSteps) std::abort();
         }) /
         kSteps;
}

// --- optimizers --------------------------------------------------------------

// Shapes like ResNet-50's: 25.5 million values in 161 tensors.
std::vector<at::Tensor> ResNet50Parameters() {
  std::vector<std::vector<int64_t>> shapes = {{64, 3, 7, 7}, {64}, {64}};
  int64_t in = 64;
  const int64_t blocks[] = {3, 4, 6, 3};
  for (int64_t stage = 0; stage < 4; ++stage) {
    const int64_t width = 64 << stage;
    for (int64_t block = 0; block < blocks[stage]; ++block) {
      for (const std::vector<int64_t>& weight :
           {std::vector<int64_t>{width, in, 1, 1},
            std::vector<int64_t>{width, width, 3, 3},
            std::vector<int64_t>{4 * width, width, 1, 1}}) {
        shapes.insert(shapes.end(), {weight, {weight[0]}, {weight[0]}});
      }
      if (block == 0) {
        shapes.insert(shapes.end(),
                      {{4 * width, in, 1, 1}, {4 * width}, {4 * width}});
      }
      in = 4 * width;
    }
  }
  shapes.insert(shapes.end(), {{1000, 2048}, {1000}});
  std::vector<at::Tensor> parameters;
  for (const std::vector<int64_t>& shape : shapes) {
    at::Tensor parameter = at::ones(shape).requires_grad_();
    parameter.mutable_grad() = at::full(shape, 1e-3);
    parameters.push_back(parameter);
  }
  return parameters;
}

Measure OfStep(std::function<void()> step) {
  return [step = std::move(step)] { return CpuTimeOf(step); };
}

Measure OurStep(World& world, const std::string& name) {
  ParameterGroup group;
  group.name = "default";
  for (const at::Tensor& parameter : ResNet50Parameters()) {
    group.parameters.emplace_back(std::to_string(group.parameters.size()),
                                  parameter);
  }
  std::shared_ptr<Optimizer> optimizer =
      world.MakeOptimizer(name, {std::move(group)});
  Require(world.problems);
  return OfStep([optimizer] { optimizer->Step({0.001}).IgnoreError(); });
}

// What AdamW cannot do without at its limit, the memory's speed: each value and
// its two moments read and written, its gradient read.
Measure AdamWsMemory() {
  std::vector<at::Tensor> values;
  for (const at::Tensor& parameter : ResNet50Parameters()) {
    values.push_back(parameter.detach());
  }
  const auto copies = [&values] {
    std::vector<at::Tensor> made;
    for (const at::Tensor& value : values) made.push_back(value.clone());
    return made;
  };
  std::vector<std::vector<at::Tensor>> moved = {values, copies(), copies()};
  return OfStep([moved = std::move(moved), read = copies()] {
    for (const std::vector<at::Tensor>& tensors : moved) {
      for (const at::Tensor& tensor : tensors) tensor.mul_(1);
    }
    for (const at::Tensor& tensor : read) tensor.sum();
  });
}

// --- the start ---------------------------------------------------------------

// CPU seconds of all children that have ended.
double ChildrenSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + time.tv_usec * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// CPU seconds of a program in a folder of its own; negative if it fails.
double SecondsOf(const std::string& program,
                 const std::vector<std::string>& arguments) {
  std::string folder = std::filesystem::temp_directory_path() / "perf.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return -1;
  const double before = ChildrenSeconds();
  const Outcome outcome = Process(program, arguments, folder).Wait();
  const double seconds = ChildrenSeconds() - before;
  std::filesystem::remove_all(folder);
  return outcome.exit_code == 0 ? seconds : -1;
}

double TrainerStart() {
  return SecondsOf(TrainerPath(), {"--recipe=digits_resnet", "epochs=1",
                                   "training_hyperparams.save_model=False",
                                   "training_hyperparams.max_train_batches=1",
                                   "training_hyperparams.max_valid_batches=1"});
}

constexpr char kPython[] = R"(
import torch
net = torch.nn.Sequential(torch.nn.Conv2d(1, 32, 3), torch.nn.Flatten(),
                          torch.nn.Linear(32 * 36, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
loss = torch.nn.functional.cross_entropy(
    net(torch.randn(64, 1, 8, 8)), torch.zeros(64, dtype=torch.long))
loss.backward()
optimizer.step()
)";

double PythonStart() {
  const char* python = std::getenv("SLIPWAY_PYTHON");
  return SecondsOf(python != nullptr ? python : "/usr/bin/python3",
                   {"-c", kPython});
}

}  // namespace
}  // namespace slipway::perf

int main(int argc, char** argv) {
  using namespace slipway::perf;  // NOLINT: the program's own
  Benchmark benchmark("loop", "CPU seconds");
  if (!benchmark.ParseArguments(argc, argv)) return 2;
  at::set_num_threads(1);
  World world;
  benchmark.Compare({"trainer's step over a bare loop's", "0.05 ms",
                     [&] {
                       const double bare = BareLoop(world);
                       return std::max(TrainerLoop(world) - bare, 1e-9);
                     },
                     Constant(50e-6), 1});
  benchmark.Compare({"trainer's step with a metric", "bare loop's step",
                     [&] { return TrainerLoop(world); },
                     [&] { return BareLoop(world); }, 0});
  benchmark.Compare({"SGD step", "torch::optim::SGD", OurStep(world, "SGD"),
                     OfStep(TorchSgd(ResNet50Parameters())), 0.55});
  benchmark.Compare({"AdamW step", "torch::optim::AdamW",
                     OurStep(world, "AdamW"),
                     OfStep(TorchAdamW(ResNet50Parameters())), 0.3});
  benchmark.Compare({"AdamW step", "reading and writing what it must",
                     OurStep(world, "AdamW"), AdamWsMemory(), 1});
  if (PythonStart() > 0) {
    benchmark.Compare({"start to first step", "PyTorch's", TrainerStart,
                       PythonStart, 1.0 / 3});
  } else {
    std::cerr << "no Python with PyTorch: the start is not compared\n";
  }
  return benchmark.Finish(std::cout);
}
