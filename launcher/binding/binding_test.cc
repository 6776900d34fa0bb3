#include "launcher/binding/binding.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/topology/topology.h"

namespace slipway::launcher {
namespace {

using ::testing::HasSubstr;

// Binds in a child and brings back what the kernel shows there.
BindingResult BindInChild(const Binding& binding) {
  int pipe_fds[2];
  EXPECT_EQ(pipe(pipe_fds), 0);
  const pid_t child = fork();
  if (child == 0) {
    const BindingResult result = Bind(binding);
    _exit(write(pipe_fds[1], &result, sizeof(result)) == sizeof(result) ? 0
                                                                        : 1);
  }
  BindingResult result;
  EXPECT_EQ(read(pipe_fds[0], &result, sizeof(result)),
            static_cast<ssize_t>(sizeof(result)));
  close(pipe_fds[0]);
  close(pipe_fds[1]);
  waitpid(child, nullptr, 0);
  return result;
}

CpuSet Allowed() { return ReadTopology({})->allowed_cpus; }

TEST(Bind, RunsOnTheCpusItWasGiven) {
  for (int cpu : Allowed()) {
    const Binding wanted({cpu}, {});
    const BindingResult bound = BindInChild(wanted);
    EXPECT_EQ(bound.cpus(), CpuSet({cpu}));
    Problems problems;
    CheckBinding(0, wanted, bound, BindMode::kStrict, problems);
    EXPECT_TRUE(problems.empty()) << FormatProblems(problems);
  }
}

TEST(Bind, ReportsACpuThatTheMachineLacks) {
  const Binding wanted({Binding::kMaxCpus - 1}, {});
  const BindingResult bound = BindInChild(wanted);
  EXPECT_EQ(bound.cpu_error, EINVAL);
  Problems problems;
  CheckBinding(3, wanted, bound, BindMode::kStrict, problems);
  EXPECT_TRUE(HasErrors(problems));
  EXPECT_THAT(FormatProblems(problems),
              HasSubstr("rank 3 was to run on CPUs 4095, but runs on"));
}

// The kernel takes such a mask without an error and drops what is not there.
TEST(Bind, SeesCpusThatTheKernelDropped) {
  const int first = *Allowed().begin();
  const Binding wanted({first, Binding::kMaxCpus - 1}, {});
  const BindingResult bound = BindInChild(wanted);
  EXPECT_EQ(bound.cpu_error, 0);
  Problems problems;
  CheckBinding(0, wanted, bound, BindMode::kBestEffort, problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].severity, Severity::kWarning);
}

TEST(Bind, LeavesTheMaskAloneWithoutCpus) {
  EXPECT_EQ(BindInChild(Binding({}, {})).cpus(), Allowed());
}

TEST(Bind, BindsCpusWhenTheMemoryPolicyIsRefused) {
  const int first = *Allowed().begin();
  const Binding wanted({first}, {Binding::kMaxNodes - 1});
  const BindingResult bound = BindInChild(wanted);
  EXPECT_EQ(bound.cpus(), CpuSet({first}));
  EXPECT_NE(bound.memory_error, 0);
}

TEST(CheckBinding, TakesAContainersRefusalAsAWarning) {
  const Binding wanted({}, {0});
  BindingResult bound;
  bound.memory_error = EPERM;
  Problems problems;
  CheckBinding(0, wanted, bound, BindMode::kStrict, problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].severity, Severity::kWarning);
  EXPECT_THAT(problems[0].hint, HasSubstr("SYS_NICE"));
}

}  // namespace
}  // namespace slipway::launcher
