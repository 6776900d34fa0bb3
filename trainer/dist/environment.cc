#include "trainer/dist/environment.h"

#include <sys/socket.h>

#include <cstdlib>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace slipway::dist {
namespace {

constexpr int kMost = std::numeric_limits<int>::max();

bool IsListening(int fd) {
  int listens = 0;
  socklen_t size = sizeof(listens);
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
         listens != 0;
}

class Reader {
 public:
  Reader(const GetVariable& get, Problems& problems)
      : get_(get), problems_(problems) {}

  Environment Read() {
    Environment here;
    if (get_("WORLD_SIZE") == nullptr) {
      if (get_("RANK") != nullptr) {
        Fail("RANK is set, but WORLD_SIZE is not",
             "set both, or none for a single process");
      }
    } else {
      here.world_size = Number("WORLD_SIZE", 1, kMost);
    }
    if (here.world_size > 1) ReadRank(here);
    ReadCommon(here);
    return here;
  }

 private:
  void ReadRank(Environment& here) {
    here.rank = Number("RANK", 0, here.world_size - 1);
    here.local_world_size =
        Number("LOCAL_WORLD_SIZE", 1, here.world_size, here.world_size);
    here.local_rank = Number("LOCAL_RANK", 0, here.local_world_size - 1,
                             here.rank % here.local_world_size);
    const char* address = get_("MASTER_ADDR");
    if (address == nullptr || *address == '\0') {
      Fail("MASTER_ADDR is not set, and WORLD_SIZE is above 1",
           "set it to the address of rank 0's machine, such as 127.0.0.1");
    } else {
      here.master_addr = address;
    }
    here.master_port = Number("MASTER_PORT", 1, 65535);
    here.agent_store = Text("TORCHELASTIC_USE_AGENT_STORE") == "True";
    if (here.rank == 0) here.store_fd = Descriptor("SLIPWAY_STORE_FD");
    if (here.store_fd && !IsListening(*here.store_fd)) {
      Fail(absl::StrCat("SLIPWAY_STORE_FD is ", *here.store_fd,
                        ", which is no listening socket"),
           "it is the launcher's to set: unset it");
    }
  }

  void ReadCommon(Environment& here) {
    here.heartbeat_fd = Descriptor("SLIPWAY_HEARTBEAT_FD");
    here.plan_hash = Text("SLIPWAY_PLAN_HASH");
    here.network_interfaces = Text("GLOO_SOCKET_IFNAME");
    here.restart = Number("SLIPWAY_RESTART", 0, kMost,
                          Number("TORCHELASTIC_RESTART_COUNT", 0, kMost, 0));
    const std::string timeout = Text("SLIPWAY_PEER_TIMEOUT");
    absl::Duration duration;
    if (timeout.empty()) return;
    if (absl::ParseDuration(timeout, &duration) &&
        duration >= absl::Milliseconds(1)) {
      here.peer_timeout = absl::ToChronoMilliseconds(duration);
    } else {
      Fail(absl::StrCat("SLIPWAY_PEER_TIMEOUT is \"", timeout, "\""),
           "set it to a time such as 90s or 5m");
    }
  }

  std::string Text(const char* name) const {
    const char* text = get_(name);
    return text != nullptr ? text : "";
  }

  std::optional<int> Descriptor(const char* name) {
    if (get_(name) == nullptr) return std::nullopt;
    const int fd = Number(name, 0, kMost, -1);
    return fd >= 0 ? std::optional<int>(fd) : std::nullopt;
  }

  // A variable that must be there unless there is a `fallback`.
  int Number(const char* name, int min, int max,
             std::optional<int> fallback = std::nullopt) {
    const char* text = get_(name);
    if (text == nullptr && fallback) return *fallback;
    const std::string range =
        max == kMost ? absl::StrCat("a number from ", min, " on")
                     : absl::StrCat("a number from ", min, " to ", max);
    int value = 0;
    if (text == nullptr) {
      Fail(absl::StrCat(name, " is not set, and WORLD_SIZE is above 1"),
           absl::StrCat("set it to ", range));
    } else if (!absl::SimpleAtoi(text, &value) || value < min || value > max) {
      Fail(absl::StrCat(name, " is \"", text, "\""),
           absl::StrCat("set it to ", range));
    } else {
      return value;
    }
    return fallback.value_or(min);
  }

  void Fail(std::string message, std::string hint) {
    Problem problem;
    problem.kind = "value";
    problem.message = std::move(message);
    problem.hint = std::move(hint);
    problems_.push_back(std::move(problem));
  }

  const GetVariable& get_;
  Problems& problems_;
};

}  // namespace

Environment ReadEnvironment(Problems& problems) {
  return ReadEnvironment([](const char* name) { return std::getenv(name); },
                         problems);
}

Environment ReadEnvironment(const GetVariable& get, Problems& problems) {
  Problems found;
  Environment here = Reader(get, found).Read();
  if (HasErrors(found)) here = Environment();
  problems.insert(problems.end(), found.begin(), found.end());
  return here;
}

}  // namespace slipway::dist
