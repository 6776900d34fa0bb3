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
  ASSERT_EQ(read->plugins.size(), 1u);
  EXPECT_EQ(read->plugins[0].second.version, 2);
  EXPECT_EQ(read->plugins[0].second.state.values.Find("t")->AsInt(), 17);
  ExpectSame(read->plugins[0].second.state.tensors,
             written.plugins[0].second.state.tensors);
}

TEST(Checkpoint, ReadsABareStateDictAsANet) {
  absl::StatusOr<Checkpoint> read =
      ReadCheckpoint("trainer/checkpoint/testdata/python_state_dict.pth");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->net.size(), 7u);
  EXPECT_EQ(read->net[0].first, "0.weight");
  EXPECT_TRUE(read->optimizer.empty());
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
