// Which network interface has an address.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "launcher/agent/agent.h"

namespace slipway::launcher {

std::string InterfaceOf(const std::string& address) {
  in_addr wanted = {};
  if (inet_pton(AF_INET, address.c_str(), &wanted) != 1) return "";
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  std::string name;
  for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || it->ifa_addr->sa_family != AF_INET) continue;
    const auto* in = reinterpret_cast<const sockaddr_in*>(it->ifa_addr);
    if (in->sin_addr.s_addr == wanted.s_addr) name = it->ifa_name;
  }
  freeifaddrs(list);
  return name;
}

}  // namespace slipway::launcher
