#include "trainer/dist/process_group.h"

#include <signal.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "ATen/ops/empty.h"
#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/dist/listener.h"
#include "tests/dist/ranks.h"

namespace slipway::dist {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Lt;

double Value(const at::Tensor& tensor) { return tensor[0].item().toDouble(); }

TEST(ProcessGroup, DoesNothingInAWorldOfOne) {
  ProcessGroup group;
  EXPECT_TRUE(group.Connect().ok());
  EXPECT_FALSE(group.distributed());
  const at::Tensor tensor = at::full({2}, 3.0);
  EXPECT_TRUE(group.AllReduce(tensor).Wait().ok());
  EXPECT_TRUE(group.Broadcast(tensor).Wait().ok());
  EXPECT_TRUE(group.Barrier().ok());
  EXPECT_EQ(Value(tensor), 3);
  const auto all = group.AllGather(tensor);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 1u);
  EXPECT_TRUE(group.failure().ok());
}

TEST(ProcessGroup, AsksForConnectFirst) {
  ProcessGroup group({.world_size = 2});
  EXPECT_EQ(group.Barrier().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(group.failure().ok());
}

class Worlds : public testing::TestWithParam<int> {};

TEST_P(Worlds, SumCopyAndGather) {
  const int world = GetParam();
  const auto said =
      Said(RunRanks(world, [](ProcessGroup& group, std::ostream& out) {
        const at::Tensor sum = at::full({3}, group.rank() + 1.0);
        const at::Tensor copy = at::full({3}, group.rank() + 10.0);
        Work first = group.AllReduce(sum);
        Work second = group.Broadcast(copy, group.world_size() - 1);
        if (!second.Wait().ok() || !first.Wait().ok()) std::abort();
        if (!first.Wait().ok()) std::abort();  // again
        std::vector<double> gathered;
        const auto all = group.AllGather(at::full({1}, group.rank() * 2.0));
        for (const at::Tensor& tensor : *all) gathered.push_back(Value(tensor));
        if (!group.Barrier().ok()) std::abort();
        out << Value(sum) << " " << Value(copy) << " "
            << absl::StrJoin(gathered, ",");
      }));
  std::vector<double> gathered;
  for (int rank = 0; rank < world; ++rank) gathered.push_back(rank * 2.0);
  EXPECT_THAT(said, Each(absl::StrCat(world * (world + 1) / 2, " ", world + 9,
                                      " ", absl::StrJoin(gathered, ","))));
}

INSTANTIATE_TEST_SUITE_P(ProcessGroup, Worlds, testing::Values(2, 3, 4));

TEST(ProcessGroup, SumsEveryTypeThatIsTrainedIn) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        for (const at::ScalarType type :
             {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong}) {
          const at::Tensor tensor = at::ones({5}, type);
          if (!group.AllReduce(tensor).Wait().ok()) std::abort();
          out << Value(tensor) << ",";
        }
      }));
  EXPECT_THAT(said, Each("2,2,2,2,2,"));
}

TEST(ProcessGroup, IsFoundByNameWhileItLives) {
  const auto said =
      Said(RunRanks(2, [](ProcessGroup& group, std::ostream& out) {
        out << (ProcessGroup::Find(kWorldGroup) == &group)
            << (ProcessGroup::Find("other") == nullptr);
      }));
  EXPECT_THAT(said, Each("11"));
  EXPECT_EQ(ProcessGroup::Find(kWorldGroup), nullptr);
}

// What a rank sees that goes on after `victim` has come to its end.
void SumForever(ProcessGroup& group, std::ostream& out) {
  const at::Tensor tensor = at::ones({100000});
  absl::Status status;
  for (int i = 0; i < 100000 && status.ok(); ++i) {
    tensor.fill_(1);
    status = group.AllReduce(tensor).Wait();
  }
  out << status << " lost " << absl::StrJoin(group.lost_ranks(), ",");
  // Whatever comes after fails at once, with the same.
  if (group.Barrier() != status || group.failure() != status) std::abort();
}

class Victims : public testing::TestWithParam<int> {};

TEST_P(Victims, AreNamedByTheOthers) {
  const int victim = GetParam();
  const auto ranks = RunRanks(3, [&](ProcessGroup& group, std::ostream& out) {
    if (!group.Barrier().ok()) std::abort();
    if (group.rank() == victim) raise(SIGKILL);
    SumForever(group, out);
  });
  for (int rank = 0; rank < 3; ++rank) {
    if (rank == victim) {
      EXPECT_EQ(ranks[rank].exit_code, 128 + SIGKILL);
    } else {
      EXPECT_EQ(ranks[rank].exit_code, 0);
      EXPECT_THAT(ranks[rank].said,
                  AllOf(HasSubstr(absl::StrCat("UNAVAILABLE: rank ", victim,
                                               " of 3 does not answer: ")),
                        HasSubstr(absl::StrCat("lost ", victim))));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ProcessGroup, Victims, testing::Values(0, 1, 2));

TEST(ProcessGroup, NamesAPeerThatHangs) {
  const auto ranks = RunRanks(3,
                              [](ProcessGroup& group, std::ostream& out) {
                                if (!group.Barrier().ok()) std::abort();
                                if (group.rank() == 1) {
                                  sleep(8);
                                  _exit(0);
                                }
                                SumForever(group, out);
                              },
                              {.timeout = std::chrono::seconds(1)});
  for (const int rank : {0, 2}) {
    EXPECT_THAT(ranks[rank].said, HasSubstr("rank 1 of 3 does not answer"));
  }
}

TEST(ProcessGroup, TellsWhyAPeerHasLeft) {
  for (const int leaver : {0, 1}) {
    const auto ranks = RunRanks(3, [&](ProcessGroup& group, std::ostream& out) {
      if (!group.Barrier().ok()) std::abort();
      if (group.rank() == leaver) {
        group.Leave(absl::InternalError("cannot read 4.jpg"));
        out << group.Barrier();
      } else {
        SumForever(group, out);
      }
    });
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_THAT(
          ranks[rank].said,
          HasSubstr(rank == leaver ? "this rank has left: cannot read 4.jpg"
                                   : absl::StrCat("left: rank ", leaver,
                                                  ": cannot read 4.jpg")));
      EXPECT_THAT(ranks[rank].seconds, Lt(10));
    }
  }
}

TEST(ProcessGroup, NamesPeersThatNeverCome) {
  const auto ranks =
      RunRanks(4,
               [](ProcessGroup& group, std::ostream& out) {
                 if (group.rank() % 2 == 1) return;
                 out << group.Connect() << " lost "
                     << absl::StrJoin(group.lost_ranks(), ",");
                 // Rank 0 serves the store: it must not go before rank 2 has
                 // looked.
                 if (group.rank() == 0) sleep(1);
               },
               {.timeout = std::chrono::seconds(1), .connect = false});
  for (const int rank : {0, 2}) {
    EXPECT_THAT(ranks[rank].said,
                HasSubstr("ranks 1, 3 of 4 did not come within 1 s"));
  }
}

TEST(ProcessGroup, ConnectsAtAPortWithoutASocketOfTheLaunchers) {
  int port = 0;
  {
    const Listener listener;
    port = listener.port;
  }
  const auto said =
      Said(RunRanks(2,
                    [&](ProcessGroup& given, std::ostream& out) {
                      Environment environment = given.environment();
                      environment.store_fd = std::nullopt;
                      environment.master_port = port;
                      ProcessGroup group(environment);
                      out << group.Connect() << " " << group.Barrier();
                    },
                    {.connect = false}));
  EXPECT_THAT(said, Each("OK OK"));
}

}  // namespace
}  // namespace slipway::dist
