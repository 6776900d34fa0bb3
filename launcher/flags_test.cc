#include "launcher/flags.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LaunchFlags Parsed(const std::vector<std::string>& arguments) {
  Problems problems;
  LaunchFlags flags = ParseLaunchFlags(arguments, problems);
  EXPECT_EQ(FormatProblems(problems), "");
  return flags;
}

std::string Refused(const std::vector<std::string>& arguments) {
  Problems problems;
  ParseLaunchFlags(arguments, problems);
  return FormatProblems(problems);
}

TEST(LaunchFlags, SplitAtTheFirstDoubleDash) {
  const LaunchFlags flags = Parsed(
      {"--num_processes=2", "--", "--recipe=x", "--", "--num_processes=3"});
  EXPECT_EQ(flags.command, Command::kRun);
  EXPECT_EQ(flags.processes.number, 2);
  EXPECT_THAT(flags.rest, ElementsAre("--recipe=x", "--", "--num_processes=3"));
}

TEST(LaunchFlags, ReadTheCommandBeforeOrBehindOtherFlags) {
  EXPECT_EQ(Parsed({"plan", "--smt=keep"}).command, Command::kPlan);
  EXPECT_EQ(Parsed({"--smt=keep", "topo"}).command, Command::kTopo);
  EXPECT_EQ(Parsed({"env"}).command, Command::kEnv);
  EXPECT_EQ(Parsed({"run", "--", "true"}).command, Command::kRun);
  EXPECT_THAT(Parsed({"plan"}).rest, IsEmpty());
}

TEST(LaunchFlags, ReadEveryValue) {
  const LaunchFlags flags = Parsed({"--num_processes=auto",
                                    "--cpu_for_each_process=0-1;2-3",
                                    "--policy=exclusive",
                                    "--smt=pair",
                                    "--remainder=error",
                                    "--reserve_cores=2",
                                    "--allow_straddle",
                                    "--bind=best_effort",
                                    "--allocator=tcmalloc",
                                    "--auto_lr=false",
                                    "--grace=500ms",
                                    "--max_restarts=3",
                                    "--heartbeat_timeout=2m",
                                    "--master_addr=::1",
                                    "--log_dir=logs",
                                    "--notee",
                                    "--log_ranks=0,2-3",
                                    "--prefix=>",
                                    "--format=json",
                                    "--",
                                    "true"});
  EXPECT_EQ(flags.processes.from, ProcessCount::From::kAuto);
  EXPECT_EQ(flags.placement.policy, Policy::kExclusive);
  EXPECT_EQ(flags.placement.smt, Smt::kPair);
  EXPECT_EQ(flags.placement.remainder, Remainder::kError);
  EXPECT_EQ(flags.placement.reserve_cores, 2);
  EXPECT_TRUE(flags.placement.allow_straddle);
  EXPECT_THAT(flags.placement.cpu_for_each_process,
              ElementsAre(CpuSet{0, 1}, CpuSet{2, 3}));
  EXPECT_EQ(flags.bind, BindMode::kBestEffort);
  EXPECT_EQ(flags.allocator, Allocator::kTcmalloc);
  EXPECT_FALSE(flags.auto_lr);
  EXPECT_EQ(flags.grace, absl::Milliseconds(500));
  EXPECT_EQ(flags.max_restarts, 3);
  EXPECT_EQ(flags.heartbeat_timeout, absl::Minutes(2));
  EXPECT_EQ(flags.master_addr, "::1");
  EXPECT_EQ(flags.log_dir, "logs");
  EXPECT_FALSE(flags.tee);
  EXPECT_THAT(*flags.log_ranks, ElementsAre(0, 2, 3));
  EXPECT_EQ(flags.prefix, ">");
  EXPECT_TRUE(flags.json);
}

TEST(LaunchFlags, SayWhatIsWrongAndWhatWasMeant) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{}, "nothing to run"},
      {{"--num_proceses=2", "--", "true"}, "did you mean \"num_processes\"?"},
      {{"plann"}, "did you mean \"plan\"?"},
      {{"python3", "train.py"}, "no command \"python3\""},
      {{"plan", "extra"}, "\"extra\" before the --"},
      {{"--num_processes=0", "--", "true"}, "from 1 on, auto or recipe"},
      {{"--num_processes=two", "--", "true"}, "cannot be \"two\""},
      {{"--policy=spreed", "--", "true"}, "it is one of spread, pack"},
      {{"--reserve_cores=-1", "--", "true"}, "a whole number from 0 on"},
      {{"--grace=10", "--", "true"}, "a time such as 10s, 500ms or 2m"},
      {{"--grace=-1s", "--", "true"}, "--grace cannot be \"-1s\""},
      {{"--log_ranks=some", "--", "true"}, "expected all, or a list of ranks"},
      {{"--cpu_for_each_process=0-x", "--", "true"}, "found \"0-x\""},
      {{"--backend=ray", "--ray_strategy=loose", "--", "true"},
       "it is one of pack, spread, strict_pack, strict_spread"},
      {{"--backend=ray", "--ray_resources=CPU", "--", "true"},
       "\"CPU\" is no resource"},
      {{"--ray_address=10.0.0.1:6379", "--", "true"}, "add --backend=ray"},
      {{"plan", "--calibrate", "--backend=ray", "--", "true"},
       "measures this machine"},
      {{"--backend=mpi", "--", "true"}, "it is one of subprocess, ray"},
      {{"--calibrate", "--", "--recipe=x"}, "--calibrate belongs to plan"},
      {{"--topology=core:2", "--", "true"}, "another machine"},
  };
  for (const auto& [arguments, message] : cases) {
    EXPECT_THAT(Refused(arguments), HasSubstr(message));
  }
}

TEST(LaunchFlags, TellEverythingAtOnce) {
  const std::string text =
      Refused({"--polcy=pack", "--smt=all", "--grace=x", "--max_restarts=x"});
  for (const char* part :
       {"policy", "skip, keep, pair", "grace", "max_restarts", "nothing"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(LaunchFlags, NeedNoProgramForHelp) {
  EXPECT_TRUE(Parsed({"--help"}).help);
}

TEST(LaunchFlags, ExplainThemselves) {
  const std::string help = LaunchFlagsHelp();
  for (const char* part :
       {"--num_processes=4 -- --recipe=digits_resnet", "MASTER_PORT",
        "eval \"$(launcher env", "--cpu_for_each_process=LISTS"}) {
    EXPECT_THAT(help, HasSubstr(part));
  }
}

}  // namespace
}  // namespace slipway::launcher
