// What ranks find around them: CPUs, memory, variables. complaints.md has the
// reports behind these tests.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/launcher/launch_program.h"

namespace slipway {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr char kShowMask[] =
    "grep Cpus_allowed_list /proc/self/status | cut -f 2";

// "0-1" of the plan's [0, 1] for ranks of one or two neighbouring CPUs.
std::string ListOf(const json& cpus) {
  std::string list;
  for (const json& cpu : cpus) {
    absl::StrAppend(&list, list.empty() ? "" : ",", cpu.get<int>());
  }
  return list;
}

class TwoRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (UsableCores() < 2) GTEST_SKIP() << "two ranks need two cores";
  }
};

TEST_F(TwoRanks, RunOnThePlannedCpus) {
  const json plan = json::parse(
      AskLauncher({"plan", "--num_processes=2", "--format=json"}).out);
  const Launched run = RunLauncher({"--num_processes=2"}, kShowMask);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (int rank : {0, 1}) {
    const json& cpus = plan["ranks"][rank]["cpus"];
    EXPECT_EQ(run.report["attempts"][0]["ranks"][rank]["cpus_bound"], cpus);
    EXPECT_THAT(run.out,
                HasSubstr(absl::StrCat("[", rank, "] ", ListOf(cpus), "\n")));
  }
}

// Complaint 10.
TEST_F(TwoRanks, HandTheirMaskToTheirChildren) {
  const Launched run = RunLauncher(
      {"--num_processes=2"},
      absl::StrCat("sh -c \"test \\$(", kShowMask, ") = $SLIPWAY_CPUS\""));
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

// Complaint 1.
TEST_F(TwoRanks, AreFreeOfInheritedBinding) {
  const Launched run = RunLauncher(
      {"--num_processes=2"},
      absl::StrCat("env | grep -E '^(KMP_|GOMP_|OMP_PLACES|OMP_PROC_BIND)' && "
                   "exit 1; test $(",
                   kShowMask, ") = $SLIPWAY_CPUS"),
      {{"KMP_AFFINITY", "granularity=fine,proclist=[9],explicit"},
       {"GOMP_CPU_AFFINITY", "0"},
       {"OMP_PLACES", "{0},{9}"},
       {"OMP_PROC_BIND", "close"}});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
}

// Complaints 11 and 12.
TEST_F(TwoRanks, RunAsManyThreadsAsTheyHaveCores) {
  const Launched run =
      RunLauncher({"--num_processes=2"}, "echo threads=$OMP_NUM_THREADS",
                  {{"OMP_NUM_THREADS", "64"}});
  const json& ranks = run.report["plan"]["ranks"];
  EXPECT_EQ(ranks[0]["threads"], ranks[0]["cpus"].size());
  EXPECT_THAT(run.out, HasSubstr(absl::StrCat(
                           "threads=", ranks[0]["threads"].get<int>(), "\n")));
  EXPECT_THAT(AskLauncher({"plan", "--num_processes=2"}).out,
              HasSubstr("OMP_NUM_THREADS="));
}

// Complaint 11.
TEST(Ranks, SleepWhileTheyWaitOnSharedCores) {
  EXPECT_THAT(RunLauncher({"--num_processes=2", "--bind=none"},
                          "echo wait=$OMP_WAIT_POLICY")
                  .out,
              HasSubstr("wait=passive\n"));
}

// Complaint 3.
TEST(Ranks, StayWithinTheLaunchersOwnMask) {
  const json machine = json::parse(AskLauncher({"topo", "--format=json"}).out);
  const int last = machine["allowed_cpus"].back();
  const Outcome run =
      Process("/usr/bin/taskset",
              {"-c", absl::StrCat(last), LauncherPath(), "--log_dir=logs", "--",
               "/bin/sh", "-c",
               absl::StrCat(kShowMask, "; echo threads=$OMP_NUM_THREADS")},
              EmptyFolder())
          .Wait();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(absl::StrCat("[0] ", last, "\n")));
  EXPECT_THAT(run.out, HasSubstr("threads=1\n"));
}

// A cgroup of version 1 with one CPU, where this process may make one.
class Cpuset {
 public:
  Cpuset() {
    std::error_code error;
    if (!std::filesystem::create_directory(folder_, error)) return;
    std::ofstream(folder_ + "/cpuset.mems") << "0";
    std::ofstream(folder_ + "/cpuset.cpus") << "1";
    exists_ = ReadText(folder_ + "/cpuset.cpus") == "1\n";
  }
  ~Cpuset() {
    std::error_code error;
    std::filesystem::remove(folder_, error);
  }
  bool exists() const { return exists_; }
  std::string tasks() const { return folder_ + "/tasks"; }

 private:
  const std::string folder_ =
      absl::StrCat("/sys/fs/cgroup/cpuset/slipway-test-", getpid());
  bool exists_ = false;
};

// Complaints 4 and 8.
TEST(Ranks, StayWithinTheirCgroup) {
  const Cpuset cpuset;
  if (!cpuset.exists()) GTEST_SKIP() << "no cpuset of version 1 to write here";
  const Outcome run =
      Process("/bin/sh",
              {"-c", absl::StrCat("echo $$ > ", cpuset.tasks(), "; exec ",
                                  LauncherPath(), " --log_dir=logs -- /bin/sh ",
                                  "-c '", kShowMask, "'")},
              EmptyFolder())
          .Wait();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[0] 1\n"));
}

// Complaints 2 and 13.
TEST(Ranks, NeedNoToolAndNoLocale) {
  const Launched run =
      RunLauncher({}, "test -n \"$SLIPWAY_CPUS\"",
                  {{"PATH", ""}, {"LANG", "zh_CN.UTF-8"}, {"LC_ALL", "zh_CN"}});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.report["attempts"][0]["ranks"][0]["cpus_bound"],
            run.report["plan"]["ranks"][0]["cpus"]);
}

// Complaint 7.
TEST(Ranks, KeepTheirMaskWhereAContainerForbidsMemoryPolicies) {
  const Outcome run =
      Process(RunfilePath("tests/launcher/forbid_mempolicy"),
              {LauncherPath(), "--log_dir=logs", "--", "/bin/sh", "-c",
               absl::StrCat("test $(", kShowMask, ") = $SLIPWAY_CPUS")},
              EmptyFolder())
          .Wait();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("memory policy was refused: Operation not "
                                 "permitted"));
}

// Complaint 5. A launcher built with the address sanitizer would want to be the
// first of what is preloaded.
TEST(Ranks, KeepTheUsersPreload) {
  const std::map<std::string, std::string> user = {
      {"LAUNCHER", LauncherPath()},
      {"KMP_AFFINITY", "compact"},
      {"LD_PRELOAD", "libm.so.6"},
      {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
  const char* twice =
      "for i in 1 2; do eval \"$($LAUNCHER env)\"; done; env | "
      "grep -E '^(LD_PRELOAD|MALLOC_|OMP_)' | sort";
  const Outcome run =
      Process("/bin/sh", {"-c", twice}, EmptyFolder(), user).Wait();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("LD_PRELOAD=libm.so.6\n"));
  EXPECT_THAT(run.out, HasSubstr("MALLOC_TRIM_THRESHOLD_=-1\n"));
  EXPECT_THAT(run.out, HasSubstr("OMP_NUM_THREADS="));
  EXPECT_THAT(RunLauncher({}, "echo $LD_PRELOAD", user).out,
              HasSubstr("[0] libm.so.6\n"));
}

struct AllocatorCase {
  const char* name;
  const char* library;
  const char* package;
};

class AllocatorTest : public testing::TestWithParam<AllocatorCase> {
 protected:
  static bool IsInstalled(const std::string& library) {
    for (const char* folder :
         {"/usr/lib/x86_64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/",
          "/usr/lib64/", "/usr/local/lib/", "/usr/lib/"}) {
      if (std::filesystem::exists(folder + library)) return true;
    }
    return false;
  }
};

INSTANTIATE_TEST_SUITE_P(
    All, AllocatorTest,
    testing::Values(AllocatorCase{"jemalloc", "libjemalloc.so.2",
                                  "libjemalloc2"},
                    AllocatorCase{"tcmalloc", "libtcmalloc_minimal.so.4",
                                  "libtcmalloc-minimal4"}),
    [](const auto& info) { return std::string(info.param.name); });

// The real library, where there is one: it is what allocates, and it has
// nothing to say against what it is told.
TEST_P(AllocatorTest, IsPreloadedBeforeWhatTheUserPreloads) {
  const auto& [name, library, package] = GetParam();
  const Launched run = RunLauncher(
      {absl::StrCat("--allocator=", name)},
      absl::StrCat("echo $LD_PRELOAD; grep -o -m 1 ", library,
                   " /proc/self/maps; grep -o -m 1 libm.so.6 /proc/self/maps"),
      {{"LD_PRELOAD", "libm.so.6"},
       {"ASAN_OPTIONS", "verify_asan_link_order=0"}});
  if (!IsInstalled(library)) {
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr(absl::StrCat("apt-get install ", package)));
    return;
  }
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(absl::StrCat("/", library, ":libm.so.6\n")));
  EXPECT_THAT(run.out, HasSubstr(absl::StrCat("[0] ", library, "\n")));
  EXPECT_THAT(run.out, HasSubstr("[0] libm.so.6\n"));
  EXPECT_THAT(run.err, Not(HasSubstr("<jemalloc>")));
}

TEST(Env, SaysTheSameAsJson) {
  const json env = json::parse(AskLauncher({"env", "--format=json"}).out);
  EXPECT_EQ(env["schema"], 1);
  EXPECT_EQ(env["set"]["MALLOC_TRIM_THRESHOLD_"], "-1");
  EXPECT_THAT(env["unset"].dump(), HasSubstr("KMP_AFFINITY"));
  EXPECT_THAT(env["set"].dump(), Not(HasSubstr("RANK")));
}

TEST(Topo, ShowsOtherMachinesToo) {
  const Outcome run =
      AskLauncher({"topo", "--topology=pack:2 [numa] core:1 pu:2"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("package 1\n"));
  EXPECT_EQ(AskLauncher({"topo", "--topology=nonsense"}).exit_code, 2);
}

// Complaint 14 is shown by the golden plans; here, that plan prints it.
TEST(Plan, ExplainsEachUnusedCpu) {
  const Outcome run = AskLauncher(
      {"plan", "--num_processes=3", "--topology=pack:2 [numa] core:4 pu:2"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("(remainder: no even share"));
  EXPECT_THAT(run.out, HasSubstr("(smt: further hardware threads"));
}

TEST(Plan, IsRefusedAsJsonToo) {
  const Outcome run =
      AskLauncher({"plan", "--num_processes=99999", "--format=json"});
  EXPECT_EQ(run.exit_code, 2);
  const json plan = json::parse(run.out);
  EXPECT_EQ(plan["ranks"], json::array());
  EXPECT_THAT(plan["problems"][0]["message"].get<std::string>(),
              HasSubstr("99999 processes"));
}

}  // namespace
}  // namespace slipway
