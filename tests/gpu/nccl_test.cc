// Ranks that have a GPU each, through NCCL. Processes fork before CUDA is used:
// the test itself never touches a device.
#include <string>
#include <vector>

#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/dist/ranks.h"
#include "trainer/dist/buffer_sync.h"
#include "trainer/dist/collectives.h"
#include "trainer/dist/gradient_sync.h"

namespace slipway::dist {
namespace {

using testing::Each;

constexpr int kRanks = 2;

void Require(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

at::Device DeviceOf(const ProcessGroup& group) {
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(group.rank()));
}

// What ranks say that are connected on their devices.
std::vector<std::string> Say(const RankFunction& function) {
  return Said(RunRanks(kRanks,
                       [&](ProcessGroup& group, std::ostream& out) {
                         Require(group.Connect(DeviceOf(group)));
                         function(group, out);
                       },
                       {.connect = false}));
}

TEST(Nccl, SumsAndCopies) {
  EXPECT_THAT(
      Say([](ProcessGroup& group, std::ostream& out) {
        const auto options = at::device(DeviceOf(group));
        const at::Tensor sum = at::full({1000}, group.rank() + 1.0, options);
        const at::Tensor copy = at::full({10}, group.rank() + 5.0, options);
        Require(group.AllReduce(sum).Wait());
        Require(BroadcastTensors(group, {copy}));
        out << sum[999].item().toDouble() << " " << copy[9].item().toDouble();
      }),
      Each("3 5"));
}

TEST(Nccl, TakesTheMeanOfGradientsAndSumsNotes) {
  EXPECT_THAT(
      Say([](ProcessGroup& group, std::ostream& out) {
        const at::Tensor parameter =
            at::ones({64, 64}, at::device(DeviceOf(group))).requires_grad_();
        GradientSync sync(group, {parameter}, /*notes=*/1);
        for (int step = 0; step < 3; ++step) {
          parameter.mutable_grad() = at::Tensor();
          sync.Begin([&](absl::Span<float> notes) {
            notes[0] = static_cast<float>(group.rank() + 1);
          });
          parameter.sum().mul(group.rank() + step).backward();
          const auto notes = sync.Finish();
          Require(notes.status());
          out << parameter.grad()[0][0].item().toDouble() << " " << (*notes)[0]
              << ",";
        }
      }),
      Each("0.5 3,1.5 3,2.5 3,"));
}

TEST(Nccl, KeepsBuffersEqual) {
  EXPECT_THAT(Say([](ProcessGroup& group, std::ostream& out) {
                const at::Tensor mean =
                    at::full({3}, 0.0, at::device(DeviceOf(group)));
                BufferSync sync(group, {mean}, BufferPolicy::kReduce);
                mean.fill_(group.rank() + 1);
                sync.Begin();
                Require(sync.Finish());
                out << mean[0].item().toDouble();
              }),
              Each("1.5"));
}

}  // namespace
}  // namespace slipway::dist
