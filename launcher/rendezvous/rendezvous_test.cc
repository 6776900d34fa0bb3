#include "launcher/rendezvous/rendezvous.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway::launcher {
namespace {

using testing::HasSubstr;

// Listens as a foreign rank 0 does, on all addresses of that version; the
// socket, or nothing.
Descriptor Listen(int family, int port) {
  Descriptor fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in6 address = {};
  address.sin6_family = static_cast<sa_family_t>(family);
  address.sin6_port = htons(static_cast<uint16_t>(port));  // where IPv4 has it
  const socklen_t size =
      family == AF_INET6 ? sizeof(address) : sizeof(sockaddr_in);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(fd.get(), 1) != 0) {
    return Descriptor();
  }
  return fd;
}

TEST(Rendezvous, GivesEachLaunchAPortOfItsOwn) {
  std::vector<Rendezvous> held;
  std::set<int> ports;
  for (int i = 0; i < 500; ++i) {
    absl::StatusOr<Rendezvous> next = Rendezvous::Open({.listen = i % 2 == 0});
    ASSERT_TRUE(next.ok()) << next.status();
    ports.insert(next->port());
    held.push_back(*std::move(next));
  }
  EXPECT_EQ(ports.size(), 500u);
}

TEST(Rendezvous, LetsForeignProgramsTakeTheReservedPort) {
  for (int family : {AF_INET, AF_INET6}) {
    const absl::StatusOr<Rendezvous> held = Rendezvous::Open({});
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_TRUE(Listen(family, held->port())) << family;
  }
}

TEST(Rendezvous, ListensForOurOwn) {
  const absl::StatusOr<Rendezvous> held = Rendezvous::Open({.listen = true});
  ASSERT_TRUE(held.ok()) << held.status();
  int listens = 0;
  socklen_t size = sizeof(listens);
  getsockopt(held->fd(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
  EXPECT_EQ(listens, 1);
  EXPECT_FALSE(Listen(AF_INET, held->port()));
}

TEST(Rendezvous, NamesAPortThatIsInUse) {
  absl::StatusOr<Rendezvous> other = Rendezvous::Open({.listen = true});
  ASSERT_TRUE(other.ok());
  for (bool listen : {false, true}) {
    const auto held =
        Rendezvous::Open({.port = other->port(), .listen = listen});
    EXPECT_EQ(held.status().code(), absl::StatusCode::kAlreadyExists);
    EXPECT_THAT(held.status().message(),
                HasSubstr(absl::StrCat("127.0.0.1:", other->port())));
  }
}

TEST(Rendezvous, RefusesTheSamePortToTwoLaunches) {
  const int port = Rendezvous::Open({})->port();  // free again now
  const absl::StatusOr<Rendezvous> first = Rendezvous::Open({.port = port});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->port(), port);
  EXPECT_EQ(Rendezvous::Open({.port = port}).status().code(),
            absl::StatusCode::kAlreadyExists);
}

TEST(Rendezvous, TakesAPortAgainAtOnce) {
  const int port = Rendezvous::Open({})->port();
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_TRUE(Rendezvous::Open({.port = port, .listen = true}).ok());
  }
}

TEST(Rendezvous, SaysWhatIsWrongWithAnAddress) {
  // 192.0.2.0/24 is for documentation: no machine has it.
  EXPECT_THAT(Rendezvous::Open({.address = "192.0.2.1"}).status().message(),
              HasSubstr("\"192.0.2.1\" is no address of this machine"));
  EXPECT_THAT(Rendezvous::Open({.address = "no.such.invalid"}).status(),
              testing::Property(&absl::Status::message,
                                HasSubstr("no address for \"no.such")));
  EXPECT_TRUE(Rendezvous::Open({.address = "localhost"}).ok());
}

TEST(ParseMasterPort, ReadsPorts) {
  EXPECT_EQ(*ParseMasterPort("29500"), 29500);
  EXPECT_EQ(*ParseMasterPort(nullptr), std::nullopt);
  EXPECT_EQ(*ParseMasterPort(""), std::nullopt);
  EXPECT_EQ(*ParseMasterPort("0"), std::nullopt);
  for (const char* bad : {"port", "-1", "65536"}) {
    EXPECT_THAT(ParseMasterPort(bad).status().message(), HasSubstr(bad));
  }
}

}  // namespace
}  // namespace slipway::launcher
