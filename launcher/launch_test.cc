#include "launcher/launch.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/rendezvous/rendezvous.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

using nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

class LaunchTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = absl::StrCat(testing::TempDir(), "/", info->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    Ranks(1);
    request_.backoff = absl::Milliseconds(1);
    request_.supervision = {.bind = BindMode::kNone,
                            .grace = absl::Milliseconds(500),
                            .log_dir = folder_ + "/logs",
                            .out = &out_,
                            .err = &err_};
  }

  void Ranks(int ranks) {
    NodePlan node = {.host = "here"};
    node.environment.world_size = ranks;
    node.placement.ranks.resize(static_cast<size_t>(ranks));
    for (int i = 0; i < ranks; ++i) {
      node.placement.ranks[static_cast<size_t>(i)].rank = i;
    }
    request_.plan.nodes = {node};
  }

  LaunchReport Run(const std::string& script) {
    request_.argv = {"/bin/sh", "-c", script};
    absl::StatusOr<LaunchReport> report = Launch(request_, problems_);
    EXPECT_TRUE(report.ok()) << report.status();
    return *report;
  }

  json ReportFile() const {
    return json::parse(std::ifstream(folder_ + "/logs/launch_report.json"));
  }

  std::string folder_;
  LaunchRequest request_;
  std::ostringstream out_;
  std::ostringstream err_;
  Problems problems_;
};

TEST_F(LaunchTest, WritesTheReportAndTheRanksOutput) {
  Ranks(2);
  EXPECT_EQ(Run("echo out of $RANK; echo err of $RANK >&2").exit_code(), 0);
  const json report = ReportFile();
  EXPECT_EQ(report["world_size"], 2);
  EXPECT_EQ(report["exit_code"], 0);
  EXPECT_TRUE(report["first_failure"].is_null());
  EXPECT_EQ(report["attempts"][0]["ranks"][1]["node"], "here");
  EXPECT_EQ(report["plan"]["ranks"].size(), 2u);
  EXPECT_THAT(report["started"].get<std::string>(), HasSubstr("T"));
  std::ostringstream content;
  content << std::ifstream(folder_ + "/logs/rank1.err").rdbuf();
  EXPECT_EQ(content.str(), "err of 1\n");
}

TEST_F(LaunchTest, StartsAllRanksAgain) {
  Ranks(2);
  request_.max_restarts = 3;
  const LaunchReport report =
      Run("echo attempt $SLIPWAY_RESTART of $RANK; "
          "if [ $SLIPWAY_RESTART = 2 ]; then exit 0; fi; "
          "if [ $RANK = 1 ]; then exit 5; fi; sleep 100");
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_EQ(report.attempts.size(), 3u);
  EXPECT_THAT(out_.str(), HasSubstr("[0] attempt 2 of 0\n"));
  EXPECT_THAT(err_.str(), HasSubstr("rank 1 failed after"));
  EXPECT_THAT(err_.str(), HasSubstr("restart 2 of 3 in 2ms"));
}

TEST_F(LaunchTest, TellsRestartedProgramsToGoOn) {
  request_.max_restarts = 1;
  request_.restart_arguments = {"resume=True"};
  Run("echo \"[$0]\"; exit 1");
  EXPECT_EQ(out_.str(), "[0] [/bin/sh]\n[0] [resume=True]\n");
}

TEST_F(LaunchTest, EndsWithTheLastAttemptsFailure) {
  request_.max_restarts = 1;
  EXPECT_EQ(Run("exit $((5 + SLIPWAY_RESTART))").exit_code(), 6);
  EXPECT_EQ(ReportFile()["first_failure"]["attempt"], 1);
}

TEST_F(LaunchTest, DoesNotRepeatWhatCannotWork) {
  request_.max_restarts = 3;
  EXPECT_EQ(Run("exit 2").attempts.size(), 1u);
  request_.argv = {"/nowhere/program"};
  EXPECT_EQ(Launch(request_, problems_)->attempts.size(), 1u);
}

TEST_F(LaunchTest, DoesNotRestartWhatTheUserHasEnded) {
  request_.max_restarts = 3;
  const LaunchReport report =
      Run(absl::StrCat("kill -TERM ", getpid(), "; sleep 100"));
  EXPECT_EQ(report.attempts.size(), 1u);
  EXPECT_EQ(report.exit_code(), 128 + SIGTERM);
}

TEST_F(LaunchTest, HandsTheListeningSocketToRankZeroAlone) {
  Ranks(2);
  request_.takes_store = true;
  const LaunchReport report =
      Run("ls -l /proc/self/fd | grep -c socket; "
          "echo \"$RANK: store $SLIPWAY_STORE_FD\" | tr -d 0-9; "
          "[ $RANK = 1 ] || readlink /proc/self/fd/$SLIPWAY_STORE_FD");
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_THAT(out_.str(), HasSubstr("socket:["));
}

TEST_F(LaunchTest, GivesEachAttemptAPort) {
  request_.max_restarts = 1;
  Run("echo $MASTER_ADDR:$MASTER_PORT; exit 1");
  EXPECT_THAT(out_.str(),
              testing::MatchesRegex("(\\[0\\] 127\\.0\\.0\\.1:[0-9]+\n){2}"));
}

TEST_F(LaunchTest, NamesABusyPortAndStartsNothing) {
  const absl::StatusOr<Rendezvous> other = Rendezvous::Open({.listen = true});
  ASSERT_TRUE(other.ok());
  request_.master_port = other->port();
  request_.argv = {"/bin/sh", "-c", "echo started"};
  const absl::StatusOr<LaunchReport> report = Launch(request_, problems_);
  EXPECT_THAT(std::string(report.status().message()),
              HasSubstr(absl::StrCat("127.0.0.1:", other->port())));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(LaunchTest, NamesALogFolderThatCannotBe) {
  std::ofstream(folder_ + "/file") << "x";
  request_.supervision.log_dir = folder_ + "/file/logs";
  request_.argv = {"/bin/true"};
  EXPECT_THAT(std::string(Launch(request_, problems_).status().message()),
              HasSubstr("file/logs"));
}

TEST(DefaultLogDir, IsInTheUsersCache) {
  setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_THAT(DefaultLogDir(absl::UnixEpoch()),
              testing::MatchesRegex(
                  "/cache/slipway/launches/[0-9]{8}_[0-9]{6}-[0-9]+"));
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/me", 1);
  EXPECT_THAT(DefaultLogDir(absl::UnixEpoch()),
              HasSubstr("/home/me/.cache/slipway/launches/"));
}

}  // namespace
}  // namespace slipway::launcher
