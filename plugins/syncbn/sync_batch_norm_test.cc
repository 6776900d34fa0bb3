#include "plugins/syncbn/sync_batch_norm.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ATen/Context.h"
#include "ATen/ops/batch_norm.h"
#include "ATen/ops/cat.h"
#include "ATen/ops/from_blob.h"
#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/randn.h"
#include "ATen/ops/zeros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/dist/ranks.h"

namespace slipway::syncbn {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Text(const at::Tensor& tensor) {
  const at::Tensor values =
      tensor.detach().to(at::kDouble).reshape({-1}).contiguous();
  std::string text;
  for (int64_t i = 0; i < values.numel(); ++i) {
    absl::StrAppendFormat(&text, "%.4f ", values[i].item().toDouble());
  }
  return text;
}

// One training step of a batch normalisation, and all that it leaves.
struct Step {
  at::Tensor y, dx, dweight, dbias, mean, var;
};

struct Case {
  std::string name;
  std::vector<at::Tensor> inputs;  // one a rank
  bool affine = true;
  bool tracks = true;
};

// The loss gives each value a gradient of its own.
at::Tensor LossOf(const at::Tensor& y) {
  return y.pow(3).sum().add(y.mul(y.detach().cos()).sum());
}

template <typename Normalise>
Step Train(const at::Tensor& input, const Case& c, Normalise normalise) {
  const int64_t channels = input.size(1);
  const auto options = at::TensorOptions(at::kDouble);
  SyncBatchNormTensors t;
  t.input = input.detach().clone().requires_grad_();
  if (c.affine) {
    t.weight = at::full({channels}, 1.5, options).requires_grad_();
    t.bias = at::full({channels}, 0.25, options).requires_grad_();
  }
  if (c.tracks) {
    t.running_mean = at::full({channels}, 0.5, options);
    t.running_var = at::full({channels}, 2.0, options);
  }
  Step step;
  step.y = normalise(t);
  LossOf(step.y).backward();
  step.dx = t.input.grad();
  step.dweight = t.weight.defined() ? t.weight.grad() : at::Tensor();
  step.dbias = t.bias.defined() ? t.bias.grad() : at::Tensor();
  step.mean = t.running_mean;
  step.var = t.running_var;
  return step;
}

Step TrainJoined(const Case& c) {
  std::vector<at::Tensor> rows;  // shapes may differ: [C, values] each
  for (const at::Tensor& input : c.inputs) {
    rows.push_back(input.transpose(0, 1).reshape({input.size(1), -1}));
  }
  const at::Tensor joined = at::cat(rows, 1).t().contiguous();
  return Train(joined, c, [](const SyncBatchNormTensors& t) {
    return at::batch_norm(t.input, t.weight, t.bias, t.running_mean,
                          t.running_var, true, 0.1, 1e-5, false);
  });
}

// Rank `rank`'s part of [values, C], in its own shape.
at::Tensor PartOf(const at::Tensor& joined, const Case& c, int rank) {
  int64_t offset = 0;
  for (int i = 0; i < rank; ++i) {
    offset += c.inputs[i].numel() / c.inputs[i].size(1);
  }
  const at::Tensor& input = c.inputs[rank];
  std::vector<int64_t> shape = input.sizes().vec();
  std::swap(shape[0], shape[1]);
  return joined.narrow(0, offset, input.numel() / input.size(1))
      .t()
      .reshape(shape)
      .transpose(0, 1);
}

double Difference(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined() ? 0 : 1;
  if (a.sizes() != b.sizes()) return 2;
  return a.numel() == 0 ? 0 : a.sub(b).abs().max().item().toDouble();
}

std::vector<Case> Cases() {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  generator.set_current_seed(7);
  const auto random = [](at::IntArrayRef shape) {
    return at::randn(shape, at::kDouble);
  };
  return {
      {"images of one size", {random({2, 3, 4, 5}), random({2, 3, 4, 5})}},
      {"images of different sizes",
       {random({2, 3, 4, 5}), random({3, 3, 2, 2})}},
      {"vectors", {random({4, 6}), random({2, 6})}},
      {"sequences on three ranks",
       {random({1, 2, 3}), random({2, 2, 5}), random({4, 2, 1})}},
      {"a rank without samples", {random({3, 3, 2, 2}), random({0, 3, 2, 2})}},
      {"a rank with one value", {random({1, 2}), random({5, 2})}},
      {"far from zero", {random({4, 3}).add(100), random({4, 3}).add(100)}},
      {"channels last",
       {random({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast),
        random({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast)}},
      {"without weights", {random({3, 3}), random({4, 3})}, false},
      {"without statistics", {random({3, 3}), random({4, 3})}, true, false},
  };
}

TEST(SyncBatchNorm, EqualsBatchNormOfTheJoinedBatch) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    const auto said = Said(RunRanks(
        static_cast<int>(c.inputs.size()),
        [&](dist::ProcessGroup& group, std::ostream& out) {
          const Step joined = TrainJoined(c);
          const Step own = Train(
              c.inputs[group.rank()], c, [](const SyncBatchNormTensors& t) {
                return SyncBatchNorm(t, 0.1, 1e-5, dist::kWorldGroup);
              });
          at::Tensor dweight = own.dweight, dbias = own.dbias;
          if (c.affine) {
            if (!group.AllReduce(dweight).Wait().ok()) std::abort();
            if (!group.AllReduce(dbias).Wait().ok()) std::abort();
          }
          const double worst =
              std::max({Difference(own.y, PartOf(joined.y, c, group.rank())),
                        Difference(own.dx, PartOf(joined.dx, c, group.rank())),
                        Difference(dweight, joined.dweight),
                        Difference(dbias, joined.dbias),
                        Difference(own.mean, joined.mean),
                        Difference(own.var, joined.var)});
          out << (worst < 1e-9 ? "equal" : absl::StrCat("off by ", worst));
        }));
    EXPECT_THAT(said, Each("equal"));
  }
}

// Two ranks with [1, 2] and [3, 4, 8]: five values with mean 3.6 and biased
// variance 5.84. Means of means would give 3.25.
TEST(SyncBatchNorm, HasTheRightNumbersForUnevenRanks) {
  const auto said =
      Said(RunRanks(2, [](dist::ProcessGroup& group, std::ostream& out) {
        std::vector<float> values = {1, 2};
        if (group.rank() == 1) values = {3, 4, 8};
        SyncBatchNormTensors t;
        t.input = at::from_blob(values.data(),
                                {static_cast<int64_t>(values.size()), 1});
        t.running_mean = at::zeros({1});
        t.running_var = at::ones({1});
        const at::Tensor y = SyncBatchNorm(t, 0.1, 1e-5, dist::kWorldGroup);
        out << Text(y) << "| " << Text(t.running_mean) << Text(t.running_var);
      }));
  EXPECT_THAT(said, ElementsAre("-1.0759 -0.6621 | 0.3600 1.6300 ",
                                "-0.2483 0.1655 1.8207 | 0.3600 1.6300 "));
}

TEST(SyncBatchNorm, ComputesInFloatAndKeepsTheInputsType) {
  const auto said = Said(RunRanks(2, [](dist::ProcessGroup& group,
                                        std::ostream& out) {
    SyncBatchNormTensors t;
    t.input =
        at::full({4, 2}, group.rank() + 0.5, at::kBFloat16).requires_grad_();
    t.weight = at::ones({2}).requires_grad_();
    t.bias = at::zeros({2}).requires_grad_();
    const at::Tensor y = SyncBatchNorm(t, 0.1, 1e-5, dist::kWorldGroup);
    y.sum().backward();
    out << (y.scalar_type() == at::kBFloat16)
        << (t.input.grad().scalar_type() == at::kBFloat16)
        << (t.weight.grad().scalar_type() == at::kFloat) << " " << Text(y[0]);
  }));
  EXPECT_THAT(said, ElementsAre("111 -1.0000 -1.0000 ", "111 1.0000 1.0000 "));
}

TEST(SyncBatchNorm, SurvivesABatchThatIsEmptyEverywhere) {
  const auto said =
      Said(RunRanks(2, [](dist::ProcessGroup& group, std::ostream& out) {
        SyncBatchNormTensors t;
        t.input = at::zeros({0, 2, 3, 3}).requires_grad_();
        const at::Tensor y = SyncBatchNorm(t, 0.1, 1e-5, dist::kWorldGroup);
        y.sum().backward();
        out << y.numel() << " " << t.input.grad().numel();
      }));
  EXPECT_THAT(said, Each("0 0"));
}

TEST(SyncBatchNorm, NeedsAGroup) {
  SyncBatchNormTensors t;
  t.input = at::ones({2, 2});
  try {
    SyncBatchNorm(t, 0.1, 1e-5, "nobody");
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("there is no group of ranks called \"nobody\""));
  }
}

TEST(SyncBatchNorm, TellsOfALostPeer) {
  const auto ranks =
      RunRanks(2, [](dist::ProcessGroup& group, std::ostream& out) {
        SyncBatchNormTensors t;
        t.input = at::ones({2, 2}).requires_grad_();
        const at::Tensor y = SyncBatchNorm(t, 0.1, 1e-5, dist::kWorldGroup);
        if (group.rank() == 1) _exit(3);
        y.sum().backward();
      });
  EXPECT_EQ(ranks[0].exit_code, 1);
  EXPECT_THAT(ranks[0].said, HasSubstr("rank 1 of 2 does not answer"));
}

TEST(SyncBatchNormLayer, TakesTheTensorsOfTheLayerBefore) {
  const nn::BatchNormOptions options = {.features = 3};
  const std::unique_ptr<nn::Module> layer = nn::BatchNorm2d(options);
  const std::unique_ptr<nn::Module> synced =
      SyncBatchNormLayer(options, *layer, dist::kWorldGroup);
  EXPECT_EQ(synced->kind(), "SyncBatchNorm");
  const auto before = layer->StateDict();
  const auto after = synced->StateDict();
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].first, before[i].first);
    EXPECT_TRUE(after[i].second.is_same(before[i].second));
  }
}

TEST(SyncBatchNormLayer, EvaluatesAsTheLayerBefore) {
  const nn::BatchNormOptions options = {.features = 3};
  const std::unique_ptr<nn::Module> layer = nn::BatchNorm2d(options);
  layer->StateDict()[2].second.fill_(0.5);  // running_mean
  const std::unique_ptr<nn::Module> synced =
      SyncBatchNormLayer(options, *layer, dist::kWorldGroup);
  layer->Train(false);
  synced->Train(false);
  const at::Tensor x = at::ones({2, 3, 2, 2});
  EXPECT_TRUE(synced->Run(x).equal(layer->Run(x)));
}

TEST(SyncBatchNormLayer, AveragesOverAllBatchesWithoutAMomentum) {
  const auto said =
      Said(RunRanks(2, [](dist::ProcessGroup& group, std::ostream& out) {
        const nn::BatchNormOptions options = {.features = 1,
                                              .momentum = std::nullopt};
        const auto layer = nn::BatchNorm1d(options);
        const auto synced =
            SyncBatchNormLayer(options, *layer, dist::kWorldGroup);
        for (const double value : {1.0, 4.0}) {
          synced->Run(at::full({2, 1}, value + group.rank() * 2));
        }
        for (const auto& [name, tensor] : synced->NamedBuffers()) {
          if (name != "running_var") out << Text(tensor);
        }
      }));
  EXPECT_THAT(said, Each("3.5000 2.0000 "));
}

}  // namespace
}  // namespace slipway::syncbn
