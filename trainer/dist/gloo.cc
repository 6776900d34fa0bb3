// The header has its contents only for builds that ask for Gloo.
#define USE_C10D_GLOO 1
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "torch/csrc/distributed/c10d/ProcessGroupGloo.hpp"
#include "trainer/dist/backends.h"

namespace slipway::dist {
namespace {

using Gloo = c10d::ProcessGroupGloo;

void AddDevices(const Environment& environment, Gloo::Options& options) {
  if (!environment.network_interfaces.empty()) {
    const std::vector<std::string> names =
        absl::StrSplit(environment.network_interfaces, ',');
    for (const std::string& name : names) {
      options.devices.push_back(Gloo::createDeviceForInterface(name));
    }
    return;
  }
  const bool one_machine =
      environment.local_world_size == environment.world_size ||
      environment.master_addr == "127.0.0.1" ||
      environment.master_addr == "localhost";
  options.devices.push_back(one_machine
                                ? Gloo::createDeviceForHostname("127.0.0.1")
                                : Gloo::createDefaultDevice());
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> MakeGloo(
    const c10::intrusive_ptr<c10d::Store>& store,
    const Environment& environment) {
  auto options = Gloo::Options::create(environment.peer_timeout);
  AddDevices(environment, *options);
  return c10::make_intrusive<Gloo>(store, environment.rank,
                                   environment.world_size, options);
}

}  // namespace slipway::dist
