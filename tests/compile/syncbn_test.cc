// From a captured graph to packages that run in a process which has nothing but
// our own LibTorch: with synchronised batch normalisation, on several ranks.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/convolution.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/rand.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/silu.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "plugins/compile/compiler/cache.h"
#include "plugins/compile/compiler/compiler.h"
#include "plugins/syncbn/sync_batch_norm.h"
#include "tests/dist/ranks.h"
#include "tests/e2e/process.h"
#include "torch/csrc/inductor/aoti_package/model_package_loader.h"

namespace slipway::compile {
namespace {

using at::Tensor;
using testing::Each;
using testing::HasSubstr;
using Tensors = std::vector<Tensor>;

// The net of write_capture.py.
Tensor Eager(const Tensors& in) {
  const auto convolve = [](const Tensor& x, const Tensor& weight, int padding) {
    return at::convolution(x, weight, std::nullopt, {1, 1}, {padding, padding},
                           {1, 1}, false, {0, 0}, 1);
  };
  Tensor x = syncbn::SyncBatchNorm({.input = convolve(in[8], in[0], 0),
                                    .weight = in[2],
                                    .bias = in[3],
                                    .running_mean = in[4],
                                    .running_var = in[5]},
                                   0.1, 1e-5, dist::kWorldGroup);
  return syncbn::SyncBatchNorm({.input = convolve(at::silu(x), in[1], 1),
                                .running_mean = in[6],
                                .running_var = in[7]},
                               0.2, 1e-3, dist::kWorldGroup);
}

// The state is the same on all ranks, the samples are not.
Tensors Inputs(int rank, int samples) {
  at::manual_seed(1);
  Tensors inputs = {at::randn({6, 3, 1, 1}), at::randn({6, 6, 3, 3}),
                    at::rand({6}),           at::randn({6}),
                    at::randn({6}),          at::rand({6}),
                    at::randn({6}),          at::rand({6})};
  at::manual_seed(2 + rank);
  inputs.push_back(at::randn({samples, 3, 5, 5}).add(rank * 2 + 3));
  return inputs;
}

Tensors Copies(const Tensors& tensors) {
  Tensors copies;
  for (const Tensor& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

// The result, the gradients and the buffers.
Tensors EagerStep(Tensors inputs, const Tensor& gradient) {
  for (const int i : {0, 1, 2, 3, 8}) inputs[i].requires_grad_();
  Tensor y = Eager(inputs);
  y.backward(gradient);
  Tensors all = {y.detach()};
  for (const Tensor& t : inputs)
    all.push_back(t.grad().defined() ? t.grad() : t);
  return all;
}

Tensors CompiledStep(const std::string& package, Tensors inputs,
                     const Tensor& gradient) {
  using torch::inductor::AOTIModelPackageLoader;
  const auto about =
      nlohmann::json::parse(std::ifstream(package + "/package.json"));
  const absl::Time begin = absl::Now();
  AOTIModelPackageLoader forward(package + "/forward");
  AOTIModelPackageLoader backward(package + "/backward");
  std::cout << "loaded in " << absl::Now() - begin << std::endl;
  const Tensors results = forward.run(inputs);
  Tensors arguments;
  for (const int from : about["saved"]) {
    arguments.push_back(from >= 0 ? inputs[from] : results[-1 - from]);
  }
  arguments.push_back(gradient);
  const Tensors gradients = backward.run(arguments);
  Tensors all = {results[0]};
  all.insert(all.end(), inputs.begin(), inputs.end());
  for (size_t i = 0; i < gradients.size(); ++i) {
    all[1 + about["gradients"][i].get<int>()] = gradients[i];
  }
  return all;
}

double WorstDifference(const Tensors& a, const Tensors& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double scale = std::max(1.0, a[i].abs().max().item<double>());
    worst = std::max(worst, a[i].sub(b[i]).abs().max().item<double>() / scale);
  }
  return worst;
}

class CompileTest : public testing::Test {
 protected:
  // Compiles once for all tests.
  static void SetUpTestSuite() {
    const std::string folder = testing::TempDir() + "/compiled";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    const std::string programs =
        RunfilePath("plugins/compile/compiler/programs");
    const Outcome captured =
        Process("/usr/bin/env",
                {"python3", programs + "/with_pytorch.py",
                 RunfilePath("tests/compile/write_capture.py"),
                 folder + "/capture"},
                folder)
            .Wait();
    ASSERT_EQ(captured.exit_code, 0) << captured.err;
    const Cache cache(folder + "/cache");
    auto job =
        CompilerJob::Start({.program = programs + "/run_compiler.py",
                            .arguments = {"--capture=" + folder + "/capture",
                                          "--package=" + *cache.Scratch("key")},
                            .log = folder + "/log",
                            .nice = 0});
    ASSERT_TRUE(job.ok()) << job.status();
    ASSERT_TRUE(job->Wait(absl::InfiniteFuture()));
    ASSERT_TRUE(job->status().ok()) << job->status() << ReadText(job->log());
    const auto entry = cache.Insert("key", *cache.Scratch("key"));
    ASSERT_TRUE(entry.ok()) << entry.status();
    package_ = *cache.Find("key");
  }

  static std::string package_;
};

std::string CompileTest::package_;

TEST_F(CompileTest, SynchronisesAsTheEagerLayerDoes) {
  for (const int world_size : {2, 3}) {
    const auto said = Said(
        RunRanks(world_size, [](dist::ProcessGroup& group, std::ostream& out) {
          const Tensors inputs = Inputs(group.rank(), 4 + group.rank());
          at::manual_seed(9 + group.rank());
          const Tensor gradient = at::randn({inputs[8].size(0), 6, 5, 5});
          const Tensors eager = EagerStep(Copies(inputs), gradient);
          const Tensors compiled =
              CompiledStep(CompileTest::package_, Copies(inputs), gradient);
          const double worst = WorstDifference(eager, compiled);
          out << (worst < 1e-5 ? "equal" : absl::StrCat("off by ", worst));
        }));
    EXPECT_THAT(said, Each("equal"));
  }
}

// Some ranks may compute it compiled, others not.
TEST_F(CompileTest, MixesWithTheEagerLayer) {
  const auto said =
      Said(RunRanks(2, [](dist::ProcessGroup& group, std::ostream& out) {
        const Tensors inputs = Inputs(group.rank(), 4);
        at::manual_seed(9 + group.rank());
        const Tensor gradient = at::randn({4, 6, 5, 5});
        const Tensors eager = EagerStep(Copies(inputs), gradient);
        const Tensors mixed =
            group.rank() == 0
                ? CompiledStep(CompileTest::package_, Copies(inputs), gradient)
                : EagerStep(Copies(inputs), gradient);
        const double worst = WorstDifference(eager, mixed);
        out << (worst < 1e-5 ? "equal" : absl::StrCat("off by ", worst));
      }));
  EXPECT_THAT(said, Each("equal"));
}

// As a c10::Error, at once.
TEST_F(CompileTest, TellsOfALostPeer) {
  const auto ranks = RunRanks(2, [](dist::ProcessGroup& group,
                                    std::ostream& out) {
    if (group.rank() == 1) _exit(3);
    const Tensors inputs = Inputs(group.rank(), 4);
    CompiledStep(CompileTest::package_, Copies(inputs), at::ones({4, 6, 5, 5}));
  });
  EXPECT_EQ(ranks[0].exit_code, 1);
  EXPECT_THAT(ranks[0].said, HasSubstr("Connection closed by peer"));
}

}  // namespace
}  // namespace slipway::compile
