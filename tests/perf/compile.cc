// What compiled graphs gain: training steps of a net, taken in several ways,
// against the same step taken eagerly in C++.
//
//   bazel run -c opt //tests/perf:compile -- --rounds=15
//   bazel run -c opt //tests/perf:compile -- --net=vit_tiny --clock=cpu
//
// A step is forward, cross-entropy loss, backward, SGD with momentum, and an
// average of the weights. It is taken with
//
//   packages       forward and backward compiled, the rest eager
//   whole_step     all of it as one graph
//   chosen         what the plugin keeps: the whole step (packages where there
//                  is none), or eager where that is faster
//   python_eager   the same net in PyTorch
//   torch_compile  the same as torch.compile compiles it
//
// all in each round, with as many threads. `chosen` may exceed neither eager
// nor torch_compile. Compiling takes minutes, and once: what is compiled stays
// in the user's cache. Where others use the machine, --clock=cpu counts
// processor time instead.
//
// With --kernels, the whole step is compared with its kernels alone, without
// what calls them, gives them memory and guards them: how much is left to gain
// there. Its code is compiled anew, with a record of each kernel.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "ATen/Parallel.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/perf/harness.h"
#include "tests/perf/kernel_time.h"
#include "tests/perf/net_training.h"
#include "tests/perf/nets.h"
#include "tests/perf/python_peer.h"

namespace slipway::perf {
namespace {

// In what is measured at once.
constexpr int kSteps = 3;

struct Options {
  std::string net;  // empty: all
  bool by_cpu = false;
  bool kernels = false;
};

// Takes what is not the harness's from the arguments.
Options TakeOptions(std::vector<const char*>& arguments) {
  Options options;
  const auto is_ours = [&](const std::string& argument) {
    if (absl::StartsWith(argument, "--net=")) {
      options.net = argument.substr(6);
      return true;
    }
    if (argument == "--clock=cpu" || argument == "--clock=wall") {
      options.by_cpu = argument == "--clock=cpu";
      return true;
    }
    if (argument == "--kernels") return options.kernels = true;
    return false;
  };
  arguments.erase(std::remove_if(arguments.begin(), arguments.end(), is_ours),
                  arguments.end());
  return options;
}

class Comparing {
 public:
  Comparing(Benchmark& benchmark, const Options& options)
      : benchmark_(benchmark), options_(options) {}

  void CompareNet(const Net& net) {
    NetTraining training(net.make(), net.images);
    PythonPeer peer({"tests/perf/compile_peer.py", net.name,
                     absl::StrCat(at::get_num_threads()),
                     absl::StrCat(kSteps)});
    const auto called = [&](const char* side) {
      return absl::StrCat(net.name, "/", side);
    };
    const StepFunction eager = training.Eager();
    std::vector<Side> sides;
    // As the plugin does: the model's code only where there is no whole step.
    std::vector<Way> ways = {{"eager", eager}};
    const auto add_scope = [&](const char* side, const char* scope) {
      const std::vector<Way> candidates = training.Compiled(scope);
      if (candidates.empty()) return;
      const Way fastest = Fastest(candidates);
      sides.push_back({called(side), OfStep(fastest.step)});
      ways.resize(1);
      ways.push_back(
          {absl::StrCat(side, " (", fastest.name, ")"), fastest.step});
    };
    add_scope("packages", "model");
    add_scope("whole_step", "step");
    const Way chosen = Fastest(ways);
    std::cerr << called("chosen") << " is " << chosen.name << std::endl;
    sides.push_back(
        {called("chosen"), OfStep(chosen.step), 1, called("torch_compile")});
    sides.push_back({called("python_eager"), OfPeer(peer, "eager")});
    sides.push_back({called("torch_compile"), OfPeer(peer, "compile")});
    benchmark_.CompareAll(sides, {called("eager"), OfStep(eager)});
  }

  void CompareWithKernels(const Net& net) {
    NetTraining training(net.make(), net.images,
                         R"({"cpp.enable_kernel_profile": true})");
    const std::vector<Way> candidates = training.Compiled("step");
    if (candidates.empty()) return;
    const Way fastest = Fastest(candidates);
    const auto kernels = [&] {
      return KernelSecondsOf([&] { Steps(fastest.step); }) / kSteps;
    };
    benchmark_.CompareAll({{net.name + "/whole_step", OfStep(fastest.step)}},
                          {net.name + "/kernels", kernels});
  }

 private:
  static void Steps(const StepFunction& step) {
    for (int i = 0; i < kSteps; ++i) step();
  }

  Measure OfStep(const StepFunction& step) const {
    return [step, by_cpu = options_.by_cpu] {
      const auto start = std::chrono::steady_clock::now();
      const double cpu = CpuTimeOf([&] { Steps(step); });
      const std::chrono::duration<double> wall =
          std::chrono::steady_clock::now() - start;
      return (by_cpu ? cpu : wall.count()) / kSteps;
    };
  }

  // Not above zero if the peer fails.
  Measure OfPeer(PythonPeer& peer, const std::string& side) const {
    return [&peer, side, by_cpu = options_.by_cpu] {
      const std::vector<double> costs = peer.Ask(side);
      return costs.size() == 2 ? costs[by_cpu ? 1 : 0] : 0;
    };
  }

  Benchmark& benchmark_;
  const Options& options_;
};

}  // namespace
}  // namespace slipway::perf

int main(int argc, char** argv) {
  using namespace slipway::perf;  // NOLINT: the program's own
  std::vector<const char*> arguments(argv, argv + argc);
  const Options options = TakeOptions(arguments);
  Benchmark benchmark("compile", options.by_cpu ? "CPU seconds" : "seconds");
  if (!benchmark.ParseArguments(static_cast<int>(arguments.size()),
                                arguments.data())) {
    return 2;
  }
  Comparing comparing(benchmark, options);
  int compared = 0;
  for (const Net& net : AllNets()) {
    if (!options.net.empty() && options.net != net.name) continue;
    options.kernels ? comparing.CompareWithKernels(net)
                    : comparing.CompareNet(net);
    ++compared;
  }
  if (compared == 0) {
    std::cerr << "there is no net \"" << options.net
              << "\"; there are: resnet18, vit_tiny, pointwise\n";
    return 2;
  }
  return benchmark.Finish(std::cout);
}
