#include "trainer/dist/gradient_sync.h"

#include <string>
#include <vector>

#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/dist/ranks.h"

namespace slipway::dist {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

at::Tensor Parameter(at::IntArrayRef shape) {
  return at::ones(shape).requires_grad_();
}

// The first value of a gradient, or "none".
std::string First(const at::Tensor& parameter) {
  if (!parameter.grad().defined()) return "none";
  return absl::StrCat(parameter.grad().reshape({-1})[0].item().toDouble());
}

void Require(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

void Synchronize(GradientSync& sync, const std::function<void()>& backward) {
  sync.Begin();
  backward();
  Require(sync.Finish().status());
}

// d/dp of factor * sum(p) is factor.
void Backward(const at::Tensor& parameter, double factor) {
  parameter.sum().mul(factor).backward();
}

TEST(GradientSync, TakesTheMean) {
  const auto said =
      Said(RunRanks(4, [](ProcessGroup& group, std::ostream& out) {
        const at::Tensor a = Parameter({2, 3});
        const at::Tensor b = Parameter({5});
        GradientSync sync(group, {a, b});
        for (int step = 0; step < 3; ++step) {
          a.mutable_grad() = at::Tensor();
          b.mutable_grad() = at::Tensor();
          Synchronize(sync, [&] {
            a.sum().mul(group.rank() + step).add(b.sum(), 2).backward();
          });
          out << First(a) << " " << First(b) << ",";
        }
      }));
  EXPECT_THAT(said, Each("1.5 2,2.5 2,3.5 2,"));
}

TEST(GradientSync, LeavesInnerPassesOfAccumulationAlone) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        const at::Tensor p = Parameter({3});
        GradientSync sync(group, {p});
        Backward(p, 10 * group.rank());
        out << First(p) << " ";
        Synchronize(sync, [&] { Backward(p, 1); });
        out << First(p);
      }));
  EXPECT_THAT(said, ElementsAre("0 6", "10 6"));
}

TEST(GradientSync, UsesWhatOnlyInnerPassesHaveUsed) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        const at::Tensor p = Parameter({3});
        const at::Tensor q = Parameter({3});
        GradientSync sync(group, {p, q});
        Backward(p, 4 * group.rank());
        Synchronize(sync, [&] { Backward(q, 1); });
        out << First(p) << " " << First(q);
      }));
  EXPECT_THAT(said, Each("2 1"));
}

TEST(GradientSync, LeavesWhatNoRankUsesWithoutAGradient) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        const at::Tensor everywhere = Parameter({2});
        const at::Tensor once = Parameter({2});
        const at::Tensor never = Parameter({2});
        const at::Tensor frozen = at::ones({2});
        GradientSync sync(group, {everywhere, once, never, frozen});
        Synchronize(sync, [&] {
          at::Tensor loss = everywhere.sum();
          if (group.rank() == 1) loss = loss.add(once.sum(), 6);
          loss.backward();
        });
        out << First(everywhere) << " " << First(once) << " " << First(never)
            << " " << First(frozen);
      }));
  EXPECT_THAT(said, Each("1 3 none none"));
}

TEST(GradientSync, NeedsNoBackwardPass) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        const at::Tensor p = Parameter({3});
        GradientSync sync(group, {p});
        Synchronize(sync, [&] {
          if (group.rank() == 0) Backward(p, 8);
        });
        out << First(p);
      }));
  EXPECT_THAT(said, Each("4"));
}

TEST(GradientSync, SendsManyBucketsInOneOrder) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        std::vector<at::Tensor> parameters;
        for (int i = 0; i < 10; ++i) parameters.push_back(Parameter({100}));
        GradientSync sync(group, parameters, 0,
                          {.first_bytes = 1, .bytes = 900});
        Synchronize(sync, [&] {
          at::Tensor loss = at::full({}, 0.0);
          // Ranks come upon them in opposite orders.
          for (int i = 0; i < 10; ++i) {
            const int p = group.rank() == 0 ? i : 9 - i;
            loss = loss.add(parameters[p].sum(), p * (group.rank() + 1.0));
          }
          loss.backward();
        });
        for (const at::Tensor& p : parameters) out << First(p) << " ";
      }));
  EXPECT_THAT(said, Each("0 1.5 3 4.5 6 7.5 9 10.5 12 13.5 "));
}

TEST(GradientSync, KeepsTypesAndStrides) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        const at::Tensor image = at::ones({2, 3, 4, 4})
                                     .contiguous(at::MemoryFormat::ChannelsLast)
                                     .requires_grad_();
        const at::Tensor half = at::ones({7}, at::kBFloat16).requires_grad_();
        const at::Tensor fine = at::ones({}, at::kDouble).requires_grad_();
        GradientSync sync(group, {image, half, fine});
        Synchronize(sync, [&] {
          image.sum()
              .add(half.sum().to(at::kFloat), 2)
              .add(fine.to(at::kFloat), 3)
              .mul(group.rank() + 1)
              .backward();
        });
        out << First(image) << " " << First(half) << " " << First(fine) << " "
            << (image.grad().strides() == image.strides())
            << (half.grad().scalar_type() == at::kBFloat16);
      }));
  EXPECT_THAT(said, Each("1.5 3 4.5 11"));
}

TEST(GradientSync, FollowsParametersThatChangeTheirStrides) {
  const auto said = Said(RunRanks(2, [](ProcessGroup& group,
                                        std::ostream& out) {
    const at::Tensor image = Parameter({2, 3, 4, 4});
    GradientSync sync(group, {image});
    image.set_data(image.detach().contiguous(at::MemoryFormat::ChannelsLast));
    Synchronize(sync, [&] { Backward(image, group.rank()); });
    out << First(image) << (image.grad().strides() == image.strides());
  }));
  EXPECT_THAT(said, Each("0.51"));
}

TEST(GradientSync, SumsNotes) {
  const auto said =
      Said(RunRanks(3, [](ProcessGroup& group, std::ostream& out) {
        const at::Tensor p = Parameter({3});
        GradientSync sync(group, {p}, 2);
        for (int step = 0; step < 2; ++step) {
          int asked = 0;
          sync.Begin([&](absl::Span<float> notes) {
            ++asked;
            notes[0] = group.rank() == 2 && step == 1 ? 1 : 0;
          });
          Backward(p, 1);
          const auto notes = sync.Finish();
          Require(notes.status());
          out << asked << ":" << (*notes)[0] << (*notes)[1] << " ";
        }
      }));
  EXPECT_THAT(said, Each("1:00 1:10 "));
}

TEST(GradientSync, SumsNotesWithoutAnyParameter) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        GradientSync sync(group, {}, 1);
        sync.Begin([](absl::Span<float> notes) { notes[0] = 1; });
        const auto notes = sync.Finish();
        Require(notes.status());
        out << (*notes)[0];
      }));
  EXPECT_THAT(said, Each("2"));
}

TEST(GradientSync, RefusesAGradientThatComesTooLate) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        const at::Tensor p = Parameter({3});
        GradientSync sync(group, {p});
        sync.Begin();
        Backward(p, 1);
        Backward(p, 1);
        out << sync.Finish().status();
        if (!group.Barrier().ok()) out << " and the group is broken";
      }));
  EXPECT_THAT(said, Each(HasSubstr("parameter 0 of shape [3] got a gradient "
                                   "twice")));
}

TEST(GradientSync, SynchronizesEachBackwardOfLoopsThatAreNotOurs) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        const at::Tensor p = Parameter({3});
        GradientSync sync(group, {p});
        sync.SynchronizeEachBackward();
        Backward(p, group.rank() * 4);
        out << First(p) << " ";
        Backward(p, group.rank() * 4);  // on top of the mean
        out << First(p);
      }));
  EXPECT_THAT(said, Each("2 4"));
}

TEST(GradientSync, LeavesParametersWithoutHooks) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        const at::Tensor p = Parameter({3});
        { GradientSync sync(group, {p}); }
        Backward(p, group.rank());
        out << First(p);
      }));
  EXPECT_THAT(said, ElementsAre("0", "1"));
}

TEST(GradientSync, LeavesGradientsAloneInAWorldOfOne) {
  ProcessGroup group;
  const at::Tensor p = Parameter({3});
  GradientSync sync(group, {p}, 1);
  sync.Begin([](absl::Span<float> notes) { notes[0] = 7; });
  Backward(p, 2);
  const auto notes = sync.Finish();
  ASSERT_TRUE(notes.ok());
  EXPECT_THAT(*notes, ElementsAre(7));
  EXPECT_EQ(First(p), "2");
}

}  // namespace
}  // namespace slipway::dist
