#include "trainer/loop/window_undo.h"

#include <cmath>

#include "ATen/ops/full.h"
#include "ATen/ops/rand.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"
#include "trainer/loop/fixtures.h"
#include "trainer/nn/layers/norm.h"

namespace slipway::loop {
namespace {

// Counts what it is shown; the meter appears with the first batch.
class Count : public Metric {
 public:
  void Reset() override { meters_.clear(); }
  absl::Status Update(const Value&, const Value&, int64_t valid) override {
    if (meters_.empty()) meters_.push_back(at::zeros({}));
    meters_[0].add_(static_cast<double>(valid));
    return absl::OkStatus();
  }
  std::vector<std::pair<std::string, double>> Compute() const override {
    return {{"Count", meters_.empty() ? 0 : meters_[0].item().toDouble()}};
  }
  std::vector<at::Tensor> Meters() override { return meters_; }

 private:
  std::vector<at::Tensor> meters_;
};

// BatchNorm with a metric, a mean loss and an optimizer around it.
struct Session {
  Session() : net(nn::BatchNorm1d({.features = 2})) {
    state.model = net.get();
    ParameterGroup group;
    group.parameters = net->NamedParameters();
    optimizer = PlainSgd({group});
    state.optimizer = optimizer.get();
    metrics.push_back(std::make_unique<Count>());
  }
  WindowUndo Undo() { return {state, nullptr, metrics, meter}; }

  // A batch of four rows of `value`.
  void Batch(double value) {
    const at::Tensor out = net->Run(at::full({4, 2}, value));
    out.sum().backward();
    meter.Add({.total = at::full({}, value), .items = {}}, 4);
    EXPECT_TRUE(metrics[0]->Update(Value(), Value(), 4).ok());
    at::rand({3});
  }
  double Mean() const {
    return net->NamedBuffers()[0].second[0].item().toDouble();
  }
  double Counted() const { return metrics[0]->Compute()[0].second; }
  double Loss() const { return meter.Compute()[0].second; }

  std::unique_ptr<nn::Module> net;
  std::unique_ptr<Optimizer> optimizer;
  TrainingState state;
  MetricList metrics;
  LossMeter meter{"loss"};
};

TEST(WindowUndo, TakesBackWhatBatchesWrote) {
  Session session;
  WindowUndo undo = session.Undo();
  session.Batch(10);
  // Momentum 0.1.
  EXPECT_FLOAT_EQ(session.Mean(), 1);
  undo.Mark();
  const double next = at::rand({}).item().toDouble();
  session.Batch(std::nan(""));
  session.Batch(5);
  EXPECT_TRUE(std::isnan(session.Mean()));
  undo.Undo();
  EXPECT_FLOAT_EQ(session.Mean(), 1);
  EXPECT_EQ(session.Counted(), 4);
  EXPECT_EQ(session.Loss(), 10);
  EXPECT_FALSE(session.net->NamedParameters()[0].second.grad().defined());
  EXPECT_EQ(at::rand({}).item().toDouble(), next);
}

TEST(WindowUndo, ReturnsToTheLastMark) {
  Session session;
  WindowUndo undo = session.Undo();
  for (int i = 0; i < 3; ++i) {
    undo.Mark();
    session.Batch(10);
  }
  undo.Undo();
  // 1 after one batch, 1.9 after two.
  EXPECT_FLOAT_EQ(session.Mean(), 1.9);
  EXPECT_EQ(session.Counted(), 8);
}

TEST(WindowUndo, ResetsAMetricWhoseMetersAppearedSince) {
  Session session;
  WindowUndo undo = session.Undo();
  undo.Mark();
  session.Batch(3);
  undo.Undo();
  EXPECT_EQ(session.Counted(), 0);
  EXPECT_TRUE(std::isnan(session.Loss()));
}

TEST(WindowUndo, LeavesMetersThatWereResetSince) {
  Session session;
  WindowUndo undo = session.Undo();
  session.Batch(10);
  undo.Mark();
  session.metrics[0]->Reset();
  session.meter.Reset();
  session.Batch(6);
  undo.MarkMeters();
  session.Batch(std::nan(""));
  undo.Undo();
  EXPECT_FLOAT_EQ(session.Mean(), 1);
  EXPECT_EQ(session.Counted(), 4);
  EXPECT_EQ(session.Loss(), 6);
}

}  // namespace
}  // namespace slipway::loop
