#include "tests/dist/listener.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace slipway {

Listener::Listener() {
  fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(fd, any, size), 0);
  EXPECT_EQ(listen(fd, 128), 0);
  EXPECT_EQ(getsockname(fd, any, &size), 0);
  port = ntohs(address.sin_port);
}

Listener::~Listener() { close(fd); }

}  // namespace slipway
