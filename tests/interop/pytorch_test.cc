// What the real PyTorch reads of ours, and we of it.
#include <cstring>
#include <string>
#include <vector>

#include "ATen/ops/randn.h"
#include "gtest/gtest.h"
#include "plugins/vision_classification/models/resnet.h"
#include "tests/e2e/process.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/nn/module.h"

namespace slipway {
namespace {

constexpr char kFixtures[] = "trainer/checkpoint/testdata/";

// Runs interop.py.
void Python(std::vector<std::string> arguments) {
  arguments.insert(
      arguments.begin(),
      {"python3", RunfilePath("third_party/pytorch/with_pytorch.py"),
       RunfilePath("tests/interop/interop.py")});
  const Outcome outcome =
      Process("/usr/bin/env", arguments, RunfilePath("")).Wait();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
}

std::unique_ptr<nn::Module> ResNet50() {
  using vision_classification::ResNetBlock;
  return vision_classification::ResNet({.block = ResNetBlock::kBottleneck,
                                        .blocks = {3, 4, 6, 3},
                                        .classes = 1000});
}

// NaNs and signed zeros count as what they are.
void ExpectSameBits(const std::vector<nn::NamedTensor>& a,
                    const std::vector<nn::NamedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const at::Tensor& x = a[i].second;
    const at::Tensor& y = b[i].second;
    EXPECT_EQ(a[i].first, b[i].first);
    ASSERT_EQ(x.scalar_type(), y.scalar_type()) << a[i].first;
    ASSERT_EQ(x.sizes(), y.sizes()) << a[i].first;
    EXPECT_EQ(std::memcmp(x.contiguous().const_data_ptr(),
                          y.contiguous().const_data_ptr(), x.nbytes()),
              0)
        << a[i].first;
  }
}

class PyTorchTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) { return folder_ + "/" + name; }

  const std::string folder_ = EmptyFolder();
};

TEST_F(PyTorchTest, ReadsOurCheckpointsAndGivesThemBack) {
  const std::unique_ptr<nn::Module> model = ResNet50();
  Checkpoint checkpoint;
  checkpoint.net = model->StateDict();
  checkpoint.extra_nets = {{"ema_net", model->StateDict()}};
  checkpoint.optimizer = {
      {"conv1.weight", {{"momentum_buffer", at::randn({64, 3, 7, 7})}}}};
  checkpoint.acc = 0.75;
  checkpoint.epoch = 3;
  checkpoint.rng = {std::string("\0\1\2", 3)};
  checkpoint.recipe_yaml = "a: 1\n";
  ASSERT_TRUE(WriteCheckpoint(checkpoint, Path("ours.pth")).ok());
  Python({"rewrite", Path("ours.pth"), Path("theirs.pth")});
  const absl::StatusOr<Checkpoint> back = ReadCheckpoint(Path("theirs.pth"));
  ASSERT_TRUE(back.ok()) << back.status();
  ExpectSameBits(back->net, model->StateDict());
  ExpectSameBits(back->extra_nets.at(0).second, model->StateDict());
  ExpectSameBits(back->optimizer.at(0).second,
                 checkpoint.optimizer.at(0).second);
  EXPECT_EQ(back->acc, 0.75);
  EXPECT_EQ(back->epoch, 3);
  EXPECT_EQ(back->rng, checkpoint.rng);
  EXPECT_EQ(back->recipe_yaml, "a: 1\n");
}

TEST_F(PyTorchTest, StateDictsLoadIntoOurModelAndComeBack) {
  const std::unique_ptr<nn::Module> model = ResNet50();
  Checkpoint checkpoint;
  checkpoint.net = model->StateDict();
  ASSERT_TRUE(WriteCheckpoint(checkpoint, Path("names.pth")).ok());
  Python({"scramble", Path("names.pth"), Path("theirs.pth")});
  const absl::StatusOr<Checkpoint> read = ReadCheckpoint(Path("theirs.pth"));
  ASSERT_TRUE(read.ok()) << read.status();
  const absl::Status loaded =
      nn::LoadStateDict(*model, read->net, /*strict=*/true);
  ASSERT_TRUE(loaded.ok()) << loaded;
  checkpoint.net = model->StateDict();
  ASSERT_TRUE(WriteCheckpoint(checkpoint, Path("back.pth")).ok());
  Python({"equal", Path("theirs.pth"), Path("back.pth")});
}

TEST_F(PyTorchTest, SafetensorsTravelBothWays) {
  const std::unique_ptr<nn::Module> model = ResNet50();
  ASSERT_TRUE(
      WriteSafetensors(model->StateDict(), {}, Path("ours.safetensors")).ok());
  Python({"rewrite", Path("ours.safetensors"), Path("theirs.safetensors")});
  EXPECT_EQ(ReadText(Path("ours.safetensors")),
            ReadText(Path("theirs.safetensors")));
  Python({"scramble", Path("ours.safetensors"), Path("other.safetensors")});
  const absl::StatusOr<Safetensors> read =
      ReadSafetensors(Path("other.safetensors"));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(
      WriteSafetensors(read->tensors, {}, Path("back.safetensors")).ok());
  Python({"equal", Path("other.safetensors"), Path("back.safetensors")});
}

// So that the fast tests, which read the fixtures, read what PyTorch writes.
TEST_F(PyTorchTest, StillWritesTheFixtures) {
  Python({"fixtures", RunfilePath(std::string(kFixtures) + "make_fixtures.py"),
          folder_});
  int compared = 0;
  for (const std::string& name : FilesIn(folder_)) {
    // The old format has addresses in it.
    if (name == "before_1_6.pth") continue;
    EXPECT_EQ(ReadText(Path(name)), ReadText(RunfilePath(kFixtures + name)))
        << name;
    ++compared;
  }
  EXPECT_EQ(compared, 7);
}

}  // namespace
}  // namespace slipway
