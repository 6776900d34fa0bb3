#include "trainer/nn/init.h"

#include <cmath>
#include <functional>
#include <string>

#include "ATen/CPUGeneratorImpl.h"
#include "ATen/ops/empty.h"
#include "gtest/gtest.h"

namespace slipway::nn {
namespace {

struct Moments {
  double mean, std, low, high;
};

Moments MomentsOf(const at::Tensor& tensor) {
  const at::Tensor t = tensor.to(at::kDouble);
  return {t.mean().item<double>(), t.std().item<double>(),
          t.min().item<double>(), t.max().item<double>()};
}

// A convolution's weight: fan in 200 * 9, fan out 100 * 9.
at::Tensor Weight() { return at::empty({100, 200, 3, 3}); }

struct Case {
  std::string name;
  std::function<void(const at::Tensor&, const OptionalGenerator&)> fill;
  double mean, std;
  // The bound of a uniform distribution, else 0.
  double bound;
};

// 180,000 elements: means are within 5 std / sqrt(n) and standard deviations
// within 1 % but for one case in millions.
TEST(Init, HasTheMomentsOfItsDistribution) {
  const double in = 200 * 9, out = 100 * 9;
  const Case cases[] = {
      {"kaiming_uniform", [](auto& w, auto& g) { KaimingUniform(w, {}, g); }, 0,
       std::sqrt(2 / in), std::sqrt(6 / in)},
      {"kaiming_uniform sqrt(5)",
       [](auto& w, auto& g) {
         KaimingUniform(w, {.slope = std::sqrt(5.0)}, g);
       },
       0, std::sqrt(1 / (3 * in)), std::sqrt(1 / in)},
      {"kaiming_normal fan out",
       [](auto& w, auto& g) { KaimingNormal(w, {.fan = Fan::kOut}, g); }, 0,
       std::sqrt(2 / out), 0},
      {"kaiming_normal linear",
       [](auto& w, auto& g) { KaimingNormal(w, {.slope = 1}, g); }, 0,
       std::sqrt(1 / in), 0},
      {"xavier_uniform", [](auto& w, auto& g) { XavierUniform(w, 1, g); }, 0,
       std::sqrt(2 / (in + out)), std::sqrt(6 / (in + out))},
      {"xavier_normal", [](auto& w, auto& g) { XavierNormal(w, 3, g); }, 0,
       3 * std::sqrt(2 / (in + out)), 0},
      {"normal",
       [](auto& w, auto& g) { Normal(w, {.mean = 4, .std = 0.5}, g); }, 4, 0.5,
       0},
      {"uniform", [](auto& w, auto& g) { Uniform(w, -1, 1, g); }, 0,
       1 / std::sqrt(3.0), 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const at::Tensor weight = Weight();
    c.fill(weight, at::detail::createCPUGenerator(1));
    const Moments found = MomentsOf(weight);
    EXPECT_NEAR(found.mean, c.mean, 5 * c.std / std::sqrt(180000));
    EXPECT_NEAR(found.std, c.std, 0.01 * c.std);
    if (c.bound == 0) {
      EXPECT_GT(found.high, c.mean + 3.5 * c.std);
    } else {
      EXPECT_NEAR(found.low, -c.bound, 0.001 * c.bound);
      EXPECT_NEAR(found.high, c.bound, 0.001 * c.bound);
    }
  }
}

TEST(TruncatedNormal, KeepsTheShapeBetweenItsBounds) {
  const at::Tensor weight = Weight();
  TruncatedNormal(weight, {.mean = 1, .std = 2, .low = -1, .high = 3},
                  at::detail::createCPUGenerator(1));
  const Moments found = MomentsOf(weight);
  // A normal distribution cut at one standard deviation has a variance of
  // 1 - 2 phi(1) / (2 Phi(1) - 1) = 0.29112.
  EXPECT_NEAR(found.mean, 1, 0.02);
  EXPECT_NEAR(found.std, 2 * std::sqrt(0.29112), 0.01);
  EXPECT_GE(found.low, -1);
  EXPECT_LE(found.high, 3);
}

TEST(TruncatedNormal, IsNearlyNormalWithinWideBounds) {
  const at::Tensor weight = Weight();
  TruncatedNormal(weight, {.std = 0.02}, at::detail::createCPUGenerator(1));
  EXPECT_NEAR(MomentsOf(weight).std, 0.02, 0.0002);
}

TEST(DefaultInit, BoundsWeightAndBiasByTheFanIn) {
  const at::Tensor weight = at::empty({50, 100}), bias = at::empty({5000});
  DefaultInit(weight, bias, at::detail::createCPUGenerator(1));
  for (const at::Tensor& tensor : {weight, bias}) {
    const Moments found = MomentsOf(tensor);
    EXPECT_NEAR(found.high, 0.1, 0.001);
    EXPECT_NEAR(found.low, -0.1, 0.001);
  }
  DefaultInit(weight, at::Tensor());
}

TEST(Init, RepeatsWithTheGeneratorsSeed) {
  const auto draw = [](uint64_t seed) {
    const at::Tensor weight = at::empty({4, 4});
    KaimingNormal(weight, {}, at::detail::createCPUGenerator(seed));
    return weight;
  };
  EXPECT_TRUE(draw(7).equal(draw(7)));
  EXPECT_FALSE(draw(7).equal(draw(8)));
}

TEST(Init, UsesTheDefaultGeneratorWithoutAnother) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor first = at::empty({4, 4}), second = at::empty({4, 4});
  generator.set_current_seed(3);
  Normal(first);
  generator.set_current_seed(3);
  Normal(second);
  EXPECT_TRUE(first.equal(second));
}

TEST(Init, WritesIntoParametersWithoutRecordingIt) {
  const at::Tensor weight = at::empty({4, 4}).set_requires_grad(true);
  XavierNormal(weight);
  TruncatedNormal(weight);
  EXPECT_TRUE(weight.is_leaf());
}

TEST(FansOf, MultipliesTheKernel) {
  EXPECT_EQ(FansOf(at::empty({8, 4})).in, 4);
  EXPECT_EQ(FansOf(at::empty({8, 4})).out, 8);
  EXPECT_EQ(FansOf(at::empty({8, 4, 3, 5})).in, 60);
  EXPECT_EQ(FansOf(at::empty({8, 4, 3, 5})).out, 120);
  EXPECT_EQ(FansOf(at::empty({0, 4})).in, 0);
}

TEST(FansOfDeathTest, RefusesVectors) {
  EXPECT_DEATH(FansOf(at::empty({8})), "two or more dimensions");
}

}  // namespace
}  // namespace slipway::nn
