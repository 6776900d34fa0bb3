// Launches in a row and at once: none may fail, none may meet another's ranks.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/launcher/launch_program.h"

namespace slipway {
namespace {

using testing::HasSubstr;

#ifdef SLIPWAY_MANY
constexpr int kInARow = 500;
constexpr int kAtOnce = 4;
#else
constexpr int kInARow = 50;
constexpr int kAtOnce = 2;
#endif

const std::vector<std::string>& TwoRanks() {
  static const auto* const flags =
      new std::vector<std::string>{"--bind=none", "--num_processes=2"};
  return *flags;
}

// Listens on `port` of 127.0.0.1, or on any free one; the socket.
int Listen(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Whoever has it already serves the test as well.
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    listen(fd, 1);
  }
  return fd;
}

// The words behind the prefixes in a launch's output, each once.
std::set<std::string> Words(const std::string& out) {
  std::set<std::string> words;
  std::istringstream lines(out);
  for (std::string prefix, word; lines >> prefix >> word;) words.insert(word);
  return words;
}

int PortOf(int fd) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

TEST(ManyLaunches, InARow) {
  for (int i = 0; i < kInARow; ++i) {
    const Launched run = RunLauncher(TwoRanks(), "exit 0");
    ASSERT_EQ(run.exit_code, 0) << "launch " << i << ": " << run.err;
  }
}

// Complaint 18: each pair of ranks agrees on a port, and no two pairs do.
TEST(ManyLaunches, AtOnce) {
  for (int i = 0; i < 20; ++i) {
    std::vector<std::unique_ptr<Launch>> launches;
    for (int j = 0; j < kAtOnce; ++j) {
      launches.push_back(
          std::make_unique<Launch>(TwoRanks(), "echo $MASTER_PORT; sleep 0.1"));
    }
    std::set<std::string> ports;
    for (auto& launch : launches) {
      const Launched run = launch->Wait();
      ASSERT_EQ(run.exit_code, 0) << run.err;
      const std::set<std::string> own = Words(run.out);
      ASSERT_EQ(own.size(), 1u) << run.out;
      EXPECT_TRUE(ports.insert(*own.begin()).second) << run.out;
    }
  }
}

// O25.
TEST(ManyLaunches, TwentyTogether) {
  const int on_the_usual_port = Listen(29500);
  std::vector<std::unique_ptr<Launch>> launches;
  for (int i = 0; i < 20; ++i) {
    launches.push_back(
        std::make_unique<Launch>(TwoRanks(), "echo $MASTER_PORT; sleep 0.5"));
  }
  std::set<std::string> ports;
  for (auto& launch : launches) {
    const Launched run = launch->Wait();
    EXPECT_EQ(run.exit_code, 0) << run.err;
    ports.merge(Words(run.out));
  }
  EXPECT_EQ(ports.size(), 20u);
  close(on_the_usual_port);
}

TEST(ManyLaunches, NameAPortThatIsTaken) {
  const int taken = Listen(0);
  const std::string port = absl::StrCat(PortOf(taken));
  const std::string started = FreshFile("started");
  const Launched run =
      RunLauncher(TwoRanks(), "echo 1 > " + started, {{"MASTER_PORT", port}});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("127.0.0.1:" + port + " is in use"));
  EXPECT_EQ(ReadText(started), "");
  close(taken);
  EXPECT_THAT(
      RunLauncher(TwoRanks(), "echo $MASTER_PORT", {{"MASTER_PORT", port}}).out,
      HasSubstr(port));
}

}  // namespace
}  // namespace slipway
