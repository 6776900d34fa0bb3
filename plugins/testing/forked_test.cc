#include "plugins/testing/forked.h"

#include <signal.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kLimit = absl::Seconds(60);

TEST(RunForked, ReturnsWhatTheFunctionDoes) {
  EXPECT_TRUE(RunForked([] { return absl::OkStatus(); }, kLimit).ok());
  EXPECT_EQ(RunForked([] { return absl::NotFoundError("not: here"); }, kLimit),
            absl::NotFoundError("not: here"));
}

TEST(RunForked, TellsHowTheProcessEndedAndWhatItWasAt) {
  const auto throws = []() -> absl::Status {
    throw std::runtime_error("it throws");
  };
  EXPECT_THAT(std::string(RunForked(throws, kLimit).message()),
              HasSubstr("it throws"));
  const auto exits = []() -> absl::Status { _exit(3); };
  EXPECT_EQ(RunForked(exits, kLimit),
            absl::InternalError("the process ended itself with code 3"));
  const auto is_killed = []() -> absl::Status {
    NowAt("the first");
    NowAt("the second");
    kill(getpid(), SIGKILL);
    return absl::OkStatus();
  };
  EXPECT_EQ(RunForked(is_killed, kLimit),
            absl::InternalError("the second: the process was ended by Killed"));
}

TEST(RunForked, EndsWhatTakesTooLong) {
  const auto waits = []() -> absl::Status {
    while (true) pause();
  };
  EXPECT_EQ(RunForked(waits, absl::Milliseconds(100)).code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(RunRanks, ConnectsThem) {
  const auto said = RunRanks(
      2,
      [](dist::ProcessGroup& group) -> absl::StatusOr<std::string> {
        const absl::Status met = group.Barrier();
        if (!met.ok()) return met;
        return absl::StrCat(group.rank(), " of ", group.world_size());
      },
      kLimit);
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_THAT(*said, ElementsAre("0 of 2", "1 of 2"));
}

TEST(RunRanks, NamesTheRankThatFails) {
  const auto said = RunRanks(
      2,
      [](dist::ProcessGroup& group) -> absl::StatusOr<std::string> {
        if (group.rank() == 1) return absl::AbortedError("enough");
        return std::string("well");
      },
      kLimit);
  EXPECT_THAT(std::string(said.status().message()),
              HasSubstr("rank 1: enough"));
}

}  // namespace
}  // namespace slipway::testing
