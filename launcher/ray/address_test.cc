#include "launcher/ray/address.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(ParseRayAddress, TakesHostAndPortAlone) {
  const absl::StatusOr<RayAddress> address = ParseRayAddress("localhost:6379");
  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->ToString(), "127.0.0.1:6379");
  for (const char* wrong : {"auto", "local", "", ":6379", "10.0.0.1",
                            "ray://10.0.0.1:6379", "10.0.0.1:", "10.0.0.1:x",
                            "10.0.0.1:0", "10.0.0.1:65536", "::1:6379"}) {
    EXPECT_THAT(ParseRayAddress(wrong).status().message(),
                HasSubstr(std::string("\"") + wrong + "\""));
  }
}

TEST(ParseRayAddress, NamesAHostThatIsNotKnown) {
  EXPECT_THAT(ParseRayAddress("no-such-host.invalid:1").status().message(),
              HasSubstr("no-such-host.invalid"));
}

TEST(CheckListens, TellsWithinASecondWhoDoesNot) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in where = {.sin_family = AF_INET};
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&where), sizeof(where)), 0);
  socklen_t size = sizeof(where);
  getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size);
  const RayAddress address = {"127.0.0.1", ntohs(where.sin_port)};
  EXPECT_THAT(CheckListens(address).message(), HasSubstr(address.ToString()));
  ASSERT_EQ(listen(fd, 1), 0);
  EXPECT_TRUE(CheckListens(address).ok());
  close(fd);
  // An address of documentation: packets to it are lost, or refused.
  const absl::Time start = absl::Now();
  EXPECT_FALSE(CheckListens({"192.0.2.1", 6379}).ok());
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

// A folder like /proc with one process.
std::string Proc(const std::string& name,
                 const std::vector<std::string>& words) {
  const std::string folder = testing::TempDir() + "/" + name;
  fs::create_directories(folder + "/123");
  std::ofstream file(folder + "/123/cmdline", std::ios::binary);
  for (const std::string& word : words) file << word << '\0';
  return folder;
}

const RayAddress kCluster = {"10.0.0.1", 6379};

TEST(CheckLocalRaylet, AcceptsOneWithWorkersForCpp) {
  const std::string proc =
      Proc("good", {"/x/ray/core/src/ray/raylet/raylet",
                    "--python_worker_command=python w.py "
                    "--gcs-address=10.0.0.1:6379 --x",
                    "--cpp_worker_command=python setup_worker.py "
                    "/x/ray/cpp/default_worker --y"});
  EXPECT_TRUE(CheckLocalRaylet(kCluster, proc).ok());
}

TEST(CheckLocalRaylet, RefusesOneWithoutBeforeItIsHarmed) {
  const std::string proc = Proc(
      "bad",
      {"/x/raylet", "--gcs-address=10.0.0.1:6379", "--cpp_worker_command="});
  EXPECT_THAT(CheckLocalRaylet(kCluster, proc).message(),
              HasSubstr("install ray-cpp"));
}

TEST(CheckLocalRaylet, SaysWhereNoneIs) {
  EXPECT_THAT(
      CheckLocalRaylet(kCluster, Proc("none", {"sleep", "1"})).message(),
      HasSubstr("ray start --address=10.0.0.1:6379"));
  const std::string other =
      Proc("other", {"/x/raylet", "--gcs-address=192.168.7.7:6379",
                     "--cpp_worker_command=default_worker"});
  EXPECT_THAT(CheckLocalRaylet(kCluster, other).message(),
              HasSubstr("cluster at 192.168.7.7:6379"));
}

}  // namespace
}  // namespace slipway::launcher
