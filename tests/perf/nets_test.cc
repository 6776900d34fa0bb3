// The nets are those of compile_peer.py: equal weights and images give equal
// losses and gradients.
#include "tests/perf/nets.h"

#include <cmath>

#include "ATen/core/Reduction.h"
#include "ATen/core/grad_mode.h"
#include "ATen/ops/arange.h"
#include "ATen/ops/cross_entropy_loss.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/perf/python_peer.h"

namespace slipway::perf {
namespace {

at::Tensor Waves(at::IntArrayRef sizes, int64_t phase) {
  return at::arange(c10::multiply_integers(sizes), at::kDouble)
      .add(phase)
      .cos()
      .mul(0.3)
      .to(at::kFloat)
      .view(sizes);
}

// Loss, and norm of all gradients.
std::vector<double> Check(const Net& net) {
  const std::unique_ptr<nn::Module> model = net.make();
  int64_t index = 0;
  for (const auto& [name, parameter] : model->NamedParameters()) {
    const at::NoGradGuard no_gradients;
    parameter.copy_(Waves(parameter.sizes(), index++));
  }
  const at::Tensor loss = at::cross_entropy_loss(
      model->Run(Waves(net.images, 0)), at::arange(net.images[0]), {},
      at::Reduction::Mean, /*ignore_index=*/-100);
  loss.backward();
  double squares = 0;
  for (const auto& [name, parameter] : model->NamedParameters()) {
    squares += parameter.grad().to(at::kDouble).square().sum().item<double>();
  }
  return {loss.item<double>(), std::sqrt(squares)};
}

TEST(Nets, AreThePeers) {
  for (const Net& net : AllNets()) {
    PythonPeer peer({"tests/perf/compile_peer.py", net.name, "1", "1"});
    const std::vector<double> theirs = peer.Ask("check");
    const std::vector<double> ours = Check(net);
    ASSERT_EQ(theirs.size(), 2) << net.name;
    EXPECT_GT(ours[1], 1e-3) << net.name;
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_NEAR(ours[i], theirs[i], 1e-3 * theirs[i]) << net.name;
    }
  }
}

TEST(PythonPeer, AnswersWithNothingOnceItHasEnded) {
  PythonPeer peer({"tests/perf/no_such_program.py"});
  EXPECT_TRUE(peer.Ask("check").empty());
  EXPECT_TRUE(peer.Ask("check").empty());
}

}  // namespace
}  // namespace slipway::perf
