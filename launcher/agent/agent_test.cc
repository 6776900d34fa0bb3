// A real agent over real pipes.
#include "launcher/agent/agent.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/ray_driver/messages.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

using messages::Message;
using messages::Type;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

// An agent as a child, and the pipes to it.
class Conversation {
 public:
  Conversation() {
    int to[2], from[2];
    EXPECT_EQ(pipe2(to, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(from, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(to[0], 0);
      dup2(from[1], 1);
      const std::string program = absl::StrCat(std::getenv("TEST_SRCDIR"), "/",
                                               std::getenv("TEST_WORKSPACE"),
                                               "/launcher/agent/agent_program");
      execl(program.c_str(), program.c_str(), nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }
  ~Conversation() {
    HangUp();
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    close(from_);
  }

  void Say(Type type, const std::string& body) {
    const std::string bytes = messages::Encode({type, 0, body});
    EXPECT_EQ(write(to_, bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  void Run(const std::string& script, const json& more = json::object()) {
    json request = {{"argv", {"/bin/sh", "-c", script}},
                    {"set", {{"RANK", "5"}}},
                    {"unset", json::array()},
                    {"user", json::array()},
                    {"cpus", ""},
                    {"memory_nodes", json::array()},
                    {"bind", "none"},
                    {"cwd", ""},
                    {"takes_store", false},
                    {"address", ""}};
    request.update(more);
    Say(Type::kRun, request.dump());
  }
  void HangUp() {
    if (to_ >= 0) close(to_);
    to_ = -1;
  }

  // The next message that is no sign of life; false when the agent is gone.
  bool Next(Message& message) {
    while (true) {
      if (decoder_.Next(message)) {
        if (message.type == Type::kAlive) continue;
        return true;
      }
      char bytes[4096];
      const ssize_t got = read(from_, bytes, sizeof(bytes));
      if (got <= 0) return false;
      decoder_.Add(bytes, static_cast<size_t>(got));
    }
  }
  // The body of the next message of `type`; bytes of kOut before it are kept.
  std::string Await(Type type) {
    Message message;
    while (Next(message)) {
      if (message.type == Type::kOut) out_ += message.body;
      if (message.type == type) return message.body;
    }
    ADD_FAILURE() << "the agent is gone";
    return "{}";
  }
  const std::string& out() const { return out_; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  messages::Decoder decoder_;
  std::string out_;
};

bool IsGone(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    if (kill(pid, 0) != 0) return true;
    usleep(10000);
  }
  return false;
}

TEST(Agent, TellsWhereItIs) {
  Conversation agent;
  const json facts = json::parse(agent.Await(Type::kFacts));
  EXPECT_EQ(facts["version"], messages::kVersion);
  EXPECT_EQ(facts["boot_id"].get<std::string>().size(), 36u);
  EXPECT_FALSE(facts["topology"]["allowed_cpus"].empty());
}

TEST(Agent, RunsARankAndTellsItsEnd) {
  Conversation agent;
  agent.Run("echo rank $RANK in $(pwd); exit 3", {{"cwd", "/usr"}});
  const json started = json::parse(agent.Await(Type::kStarted));
  EXPECT_GT(started["pid"], 0);
  const json ended = json::parse(agent.Await(Type::kExited));
  EXPECT_EQ(WEXITSTATUS(ended["wait_status"].get<int>()), 3);
  EXPECT_EQ(agent.out(), "rank 5 in /usr\n");
  agent.Say(Type::kFinish, "");
  Message message;
  EXPECT_FALSE(agent.Next(message));  // it ends by itself
}

TEST(Agent, BindsItsRankAndReadsTheMaskBack) {
  Conversation agent;
  const json facts = json::parse(agent.Await(Type::kFacts));
  const int last = facts["topology"]["allowed_cpus"].back();
  agent.Run("grep Cpus_allowed_list /proc/self/status",
            {{"cpus", absl::StrCat(last)}, {"bind", "strict"}});
  EXPECT_EQ(json::parse(agent.Await(Type::kStarted))["cpus"],
            absl::StrCat(last));
  agent.Await(Type::kOutEnd);
  EXPECT_THAT(agent.out(), HasSubstr(absl::StrCat("\t", last, "\n")));
}

TEST(Agent, SaysWhyARankCannotStart) {
  Conversation agent;
  agent.Run("", {{"argv", {"/no/such/program"}}});
  EXPECT_THAT(agent.Await(Type::kStartFailed), HasSubstr("/no/such/program"));
  Conversation other;
  other.Run("", {{"cwd", "/proc/no/such/folder"}});
  EXPECT_THAT(other.Await(Type::kStartFailed),
              AllOf(HasSubstr("/proc/no/such/folder"), HasSubstr("true")));
}

TEST(Agent, PassesSignalsOn) {
  Conversation agent;
  agent.Run("trap 'echo got it; exit 0' USR1; echo ready; sleep 60 & wait");
  agent.Await(Type::kOut);
  agent.Say(Type::kSignal, absl::StrCat(SIGUSR1));
  const json ended = json::parse(agent.Await(Type::kExited));
  EXPECT_EQ(ended["wait_status"], 0);
  EXPECT_THAT(agent.out(), HasSubstr("got it"));
}

TEST(Agent, HoldsThePortOfTheRendezvous) {
  Conversation agent;
  agent.Say(Type::kMeet, R"({"address": "127.0.0.1", "port": null,
                             "listen": true})");
  const json meeting = json::parse(agent.Await(Type::kMeeting));
  ASSERT_TRUE(meeting.contains("port")) << meeting;
  agent.Run("readlink /proc/self/fd/$SLIPWAY_STORE_FD",
            {{"takes_store", true}});
  agent.Await(Type::kOutEnd);
  EXPECT_THAT(agent.out(), HasSubstr("socket:"));
  agent.Say(Type::kMeet, R"({"address": "192.0.2.7", "port": null,
                             "listen": true})");
  EXPECT_THAT(agent.Await(Type::kMeeting), HasSubstr("192.0.2.7"));
}

TEST(Agent, KillsEveryDescendantWhenItsInputEnds) {
  Conversation agent;
  agent.Run("setsid sleep 600 & echo $!; wait");
  const pid_t descendant = std::stoi(agent.Await(Type::kOut));
  ASSERT_EQ(kill(descendant, 0), 0);
  agent.HangUp();
  EXPECT_TRUE(IsGone(descendant));
}

TEST(Agent, LeavesNothingWhenItIsKilled) {
  Conversation agent;
  agent.Run("setsid sleep 600 & echo $!; wait");
  const pid_t descendant = std::stoi(agent.Await(Type::kOut));
  kill(agent.pid(), SIGKILL);
  EXPECT_TRUE(IsGone(descendant));
}

TEST(Agent, KeepsUpWithMuchOutput) {
  Conversation agent;
  agent.Run("head -c 20000000 /dev/zero");
  agent.Await(Type::kOutEnd);
  EXPECT_EQ(agent.out().size(), 20000000u);
}

TEST(Agent, NamesTheInterfaceOfTheNodesAddress) {
  EXPECT_EQ(InterfaceOf("127.0.0.1"), "lo");
  EXPECT_EQ(InterfaceOf("192.0.2.1"), "");
  EXPECT_EQ(InterfaceOf("no address"), "");
  Conversation agent;
  agent.Run("echo $GLOO_SOCKET_IFNAME $NCCL_SOCKET_IFNAME",
            {{"address", "127.0.0.1"}});
  agent.Await(Type::kOutEnd);
  EXPECT_EQ(agent.out(), "lo lo\n");
}

TEST(EnvironmentOnNode, HasTheNodesOwnAndWhatTheUserAdds) {
  const std::vector<std::string> got = EnvironmentOnNode(
      {"PATH=/node", "LD_LIBRARY_PATH=/ray/cpp/lib", "RAY_JOB_ID=1",
       "PYTHONPATH=/ray", "SLIPWAY_FAULT=old", "OMP_PLACES=cores"},
      {"PATH=/user", "MINE=1", "RAY_AUTH_TOKEN=secret", "PYTHONPATH=/mine",
       "SLIPWAY_FAULT=new"},
      {.set = {{"RANK", "1"}}, .unset = {"OMP_PLACES"}});
  EXPECT_THAT(got, testing::UnorderedElementsAre(
                       "PATH=/node", "MINE=1", "PYTHONPATH=/mine",
                       "SLIPWAY_FAULT=new", "RANK=1"));
}

}  // namespace
}  // namespace slipway::launcher
