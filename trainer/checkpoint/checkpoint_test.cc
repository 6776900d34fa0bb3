#include "trainer/checkpoint/checkpoint.h"

#include <filesystem>
#include <string>

#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/rand.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Checkpoint Filled() {
  Checkpoint checkpoint;
  checkpoint.net = {{"conv.weight", at::rand({2, 3})},
                    {"bn.num_batches_tracked", at::full({}, 5, at::kLong)}};
  checkpoint.extra_nets = {{"ema_net", {{"conv.weight", at::rand({2, 3})}}}};
  checkpoint.optimizer = {
      {"conv.weight", {{"momentum_buffer", at::rand({2, 3})}}}};
  checkpoint.scaler = {{"scale", at::full({}, 1024.0)}};
  checkpoint.acc = 0.75;
  checkpoint.epoch = 4;
  checkpoint.metrics = {{"valid", {{"Accuracy", 0.75}}}};
  checkpoint.plan_hash = "abc";
  checkpoint.recipe_yaml = "a: 1\n";
  checkpoint.step = 123;
  checkpoint.world_size = 2;
  checkpoint.sampler = {.seed = 42, .epoch = 4, .samples_done = 96};
  checkpoint.rng = {std::string("\0\1\2", 3), "other"};
  checkpoint.meters = {at::rand({2})};
  checkpoint.best = BestResult{.name = "Accuracy", .value = 0.8, .epoch = 3};
  checkpoint.device_rng = {"device"};
  checkpoint.schedule = {{"default", 0.05}, {"head", 0.5}};
  checkpoint.loop = {.windows = 125,
                     .samples = 4000,
                     .seconds = 1.5,
                     .train_loss = {.samples = 96, .sums = {{"", 0.1}}},
                     .micro = 2,
                     .window_loss = {.samples = 2, .sums = {{"", 0.2}}},
                     .skip_reason = "overflow",
                     .recent_losses = {0.5, 0.25}};
  checkpoint.loss = {{"log_variance", at::rand({2})}};
  checkpoint.grads = {{"conv.weight", at::rand({2, 3})}};
  recipe::Node values = recipe::Node::Map();
  values.Set("t", recipe::Node::Int(17));
  checkpoint.plugins = {
      {"ema",
       {.version = 2,
        .state = {.values = values, .tensors = {{"x", at::rand({1})}}}}}};
  return checkpoint;
}

void ExpectSame(const std::vector<nn::NamedTensor>& a,
                const std::vector<nn::NamedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    EXPECT_TRUE(at::equal(a[i].second, b[i].second)) << a[i].first;
  }
}

TEST(Checkpoint, ComesBackWhole) {
  const std::string path = testing::TempDir() + "/whole.pth";
  const Checkpoint written = Filled();
  ASSERT_TRUE(WriteCheckpoint(written, path).ok());
  absl::StatusOr<Checkpoint> read = ReadCheckpoint(path);
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSame(read->net, written.net);
  ASSERT_EQ(read->extra_nets.size(), 1u);
  EXPECT_EQ(read->extra_nets[0].first, "ema_net");
  ExpectSame(read->extra_nets[0].second, written.extra_nets[0].second);
  ASSERT_EQ(read->optimizer.size(), 1u);
  ExpectSame(read->optimizer[0].second, written.optimizer[0].second);
  ExpectSame(read->scaler, written.scaler);
  ExpectSame(read->grads, written.grads);
  EXPECT_EQ(read->acc, 0.75);
  EXPECT_EQ(read->epoch, 4);
  EXPECT_EQ(read->metrics, written.metrics);
  EXPECT_EQ(read->plan_hash, "abc");
  EXPECT_EQ(read->recipe_yaml, "a: 1\n");
  EXPECT_EQ(read->step, 123);
  EXPECT_EQ(read->world_size, 2);
  EXPECT_EQ(read->sampler.seed, 42u);
  EXPECT_EQ(read->sampler.samples_done, 96);
  EXPECT_EQ(read->rng, written.rng);
  EXPECT_TRUE(at::equal(read->meters[0], written.meters[0]));
  EXPECT_EQ(read->best->name, "Accuracy");
  EXPECT_EQ(read->best->epoch, 3);
  EXPECT_TRUE(read->from_slipway);
  EXPECT_EQ(read->device_rng, written.device_rng);
  EXPECT_EQ(read->schedule, written.schedule);
  EXPECT_EQ(read->loop.windows, 125);
  EXPECT_EQ(read->loop.samples, 4000);
  EXPECT_EQ(read->loop.seconds, 1.5);
  EXPECT_EQ(read->loop.train_loss.sums, written.loop.train_loss.sums);
  EXPECT_EQ(read->loop.micro, 2);
  EXPECT_EQ(read->loop.window_loss.samples, 2);
  EXPECT_EQ(read->loop.skip_reason, "overflow");
  EXPECT_EQ(read->loop.recent_losses, written.loop.recent_losses);
  ExpectSame(read->loss, written.loss);
  ASSERT_EQ(read->plugins.size(), 1u);
  EXPECT_EQ(read->plugins[0].second.version, 2);
  EXPECT_EQ(read->plugins[0].second.state.values.Find("t")->AsInt(), 17);
  ExpectSame(read->plugins[0].second.state.tensors,
             written.plugins[0].second.state.tensors);
}

std::vector<std::string> Paths(const Checkpoint& checkpoint) {
  std::vector<std::string> paths;
  VisitTensors(checkpoint,
               [&](const std::string& path, const at::Tensor& tensor) {
                 paths.push_back(path);
               });
  return paths;
}

TEST(Checkpoint, VisitsEachTensorUnderAPathOfItsOwn) {
  EXPECT_THAT(Paths(Filled()),
              ElementsAre("net/conv.weight", "net/bn.num_batches_tracked",
                          "ema_net/conv.weight",
                          "optimizer/conv.weight/momentum_buffer",
                          "scaler/scale", "loss/log_variance",
                          "grads/conv.weight", "meters/0", "plugins/ema/x"));
}

TEST(Checkpoint, ACopyKeepsItsValuesWhenTheTrainingGoesOn) {
  Checkpoint live = Filled();
  live.net.emplace_back("tied.weight", live.net[0].second);
  const at::Tensor before = live.net[0].second.clone();
  const Checkpoint copy = Copy(live);
  live.net[0].second.add_(1);
  live.meters[0].add_(1);
  EXPECT_TRUE(at::equal(copy.net[0].second, before));
  EXPECT_TRUE(copy.net[0].second.is_same(copy.net[2].second));
  EXPECT_FALSE(at::equal(copy.meters[0], live.meters[0]));
  EXPECT_EQ(Paths(copy), Paths(live));
}

struct PrefixCase {
  std::vector<std::string> written;
  std::vector<std::string> read;
  std::string stripped;
};

TEST(Checkpoint, TakesWrappersPrefixesOffNames) {
  const std::string path = testing::TempDir() + "/prefix.pth";
  const std::vector<PrefixCase> cases = {
      {{"module.a", "module.b"}, {"a", "b"}, "module."},
      {{"_orig_mod.a", "_orig_mod.b"}, {"a", "b"}, "_orig_mod."},
      {{"module._orig_mod.a"}, {"a"}, "module._orig_mod."},
      {{"_orig_mod.module.a"}, {"a"}, "_orig_mod.module."},
      // A module of the model's own that is called so.
      {{"module.a", "b"}, {"module.a", "b"}, ""},
  };
  for (const PrefixCase& c : cases) {
    Checkpoint checkpoint;
    std::vector<nn::NamedTensor> tensors;
    for (const std::string& name : c.written) {
      tensors.emplace_back(name, at::rand({1}));
    }
    checkpoint.net = tensors;
    checkpoint.extra_nets = {{"ema_net", tensors}};
    ASSERT_TRUE(WriteCheckpoint(checkpoint, path).ok());
    const absl::StatusOr<Checkpoint> read = ReadCheckpoint(path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->stripped_prefix, c.stripped);
    for (size_t i = 0; i < c.read.size(); ++i) {
      EXPECT_EQ(read->net[i].first, c.read[i]);
      EXPECT_EQ(read->extra_nets[0].second[i].first, c.read[i]);
    }
  }
}

TEST(Checkpoint, ReadsABareStateDictAsANet) {
  absl::StatusOr<Checkpoint> read =
      ReadCheckpoint("trainer/checkpoint/testdata/python_state_dict.pth");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->net.size(), 7u);
  EXPECT_EQ(read->net[0].first, "0.weight");
  EXPECT_TRUE(read->optimizer.empty());
  EXPECT_FALSE(read->from_slipway);
}

// The keys, and the kinds of numbers, that SuperGradients writes.
TEST(Checkpoint, ReadsOneOfSuperGradients) {
  absl::StatusOr<Checkpoint> read =
      ReadCheckpoint("trainer/checkpoint/testdata/super_gradients.pth");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->net.size(), 7u);
  EXPECT_EQ(read->acc, 0.75);
  EXPECT_EQ(read->epoch, 3);
  EXPECT_EQ(read->metrics.at("valid").at("Accuracy"), 0.75);
  EXPECT_EQ(read->metrics.at("valid").at("CrossEntropyLoss"), 0.5);
  EXPECT_EQ(read->metrics.at("train").at("CrossEntropyLoss"), 0.25);
  ASSERT_EQ(read->extra_nets.size(), 1u);
  EXPECT_EQ(read->extra_nets[0].first, "ema_net");
  EXPECT_EQ(read->extra_nets[0].second.size(), 7u);
}

TEST(Checkpoint, NamesTheKeysOfAFileWithoutANet) {
  const absl::Status status =
      ReadCheckpoint("trainer/checkpoint/testdata/numpy_scalars_2.pth")
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("numpy_scalars_2.pth: expected a key \"net\" or a dict "
                        "of tensors, found the keys \"float16\", \"float32\""));
}

TEST(Checkpoint, NamesThePathThatIsAbsent) {
  const absl::Status status = ReadCheckpoint("/nowhere/x.pth").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/x.pth"));
}

TEST(Checkpoint, NamesTheFolderThatIsGone) {
  const absl::Status status = WriteCheckpoint(Filled(), "/nowhere/x.pth");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace slipway
