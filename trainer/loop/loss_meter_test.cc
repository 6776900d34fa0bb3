#include "trainer/loop/loss_meter.h"

#include <cmath>

#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::loop {
namespace {

using testing::ElementsAre;
using testing::Pair;

at::Tensor Scalar(double value) { return at::full({}, value); }

TEST(LossMeter, WeighsBatchesBySamples) {
  LossMeter meter("L");
  meter.Add({.total = Scalar(1), .items = {}}, 3);
  meter.Add({.total = Scalar(5), .items = {}}, 1);
  EXPECT_THAT(meter.Compute(), ElementsAre(Pair("L", 2.0)));
}

TEST(LossMeter, NamesPartsAfterTheLoss) {
  LossMeter meter("L");
  meter.Add({.total = Scalar(3), .items = {{"a", Scalar(1)}, {"b", Scalar(2)}}},
            2);
  EXPECT_THAT(meter.Compute(),
              ElementsAre(Pair("L", 3.0), Pair("L/a", 1.0), Pair("L/b", 2.0)));
}

TEST(LossMeter, HasNoValueWhenNothingWasAdded) {
  LossMeter meter("L");
  meter.Add({.total = Scalar(1), .items = {}}, 1);
  meter.Reset();
  const NamedValues values = meter.Compute();
  ASSERT_EQ(values.size(), 1u);
  EXPECT_TRUE(std::isnan(values[0].second));
}

TEST(LossMeter, KeepsTheGraphOfNoLoss) {
  LossMeter meter("L");
  at::Tensor weight = at::ones({}).requires_grad_();
  meter.Add({.total = weight.mul(2), .items = {}}, 1);
  EXPECT_THAT(meter.Compute(), ElementsAre(Pair("L", 2.0)));
}

TEST(LossMeter, RefusesALossThatIsNoScalar) {
  LossMeter meter("L");
  EXPECT_THROW(meter.Add({.total = at::ones({2}), .items = {}}, 1), c10::Error);
}

}  // namespace
}  // namespace slipway::loop
