// A listener for a head, a process that looks like a raylet, and a driver that
// starts agents on this machine.
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/launcher/ray/cluster.h"

namespace slipway {
namespace {

pid_t raylet = -1;  // NOLINT: of the cluster
int head = -1;      // NOLINT

int Listen() {
  sockaddr_in where = {.sin_family = AF_INET};
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(where);
  auto* address = reinterpret_cast<sockaddr*>(&where);
  head = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(bind(head, address, size), 0);
  EXPECT_EQ(listen(head, 100), 0);
  getsockname(head, address, &size);
  return ntohs(where.sin_port);
}

}  // namespace

std::string StartCluster() {
  const std::string address = absl::StrCat("127.0.0.1:", Listen());
  raylet = fork();
  if (raylet == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string flag = "--gcs-address=" + address;
    execl("/bin/sh", "/stand/in/raylet", "-c", "sleep 1000; true", flag.c_str(),
          "--cpp_worker_command=default_worker", nullptr);
    _exit(127);
  }
  return address;
}

void StopCluster() {
  kill(raylet, SIGKILL);
  waitpid(raylet, nullptr, 0);
  close(head);
}

std::map<std::string, std::string> ClusterEnvironment() {
  return {{"SLIPWAY_RAY_DRIVER",
           RunfilePath("tests/launcher/ray/stand_in_driver")}};
}

}  // namespace slipway
