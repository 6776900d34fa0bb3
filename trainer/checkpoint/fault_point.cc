#include "trainer/checkpoint/fault_point.h"

#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace slipway {
namespace {

struct Fault {
  std::string name;
  std::atomic<int> turns_left{0};
  int signal = SIGKILL;
};

// Takes what follows the last colon off `text`; empty if there is none.
std::string TakeLast(std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return "";
  std::string last = text.substr(colon + 1);
  text.resize(colon);
  return last;
}

// Read once: the environment of a training does not change.
Fault& TheFault() {
  static Fault* fault = [] {
    auto* result = new Fault;
    const char* text = std::getenv("SLIPWAY_FAULT");
    if (text == nullptr) return result;
    result->name = text;
    std::string turn = TakeLast(result->name);
    if (turn == "SIGTERM") {
      result->signal = SIGTERM;
      turn = TakeLast(result->name);
    }
    result->turns_left = turn.empty() ? 1 : std::atoi(turn.c_str());
    return result;
  }();
  return *fault;
}

}  // namespace

void FaultPoint(std::string_view name) {
  Fault& fault = TheFault();
  if (fault.name.empty() || fault.name != name) return;
  if (fault.turns_left.fetch_sub(1) != 1) return;
  // SIGKILL gives neither destructors nor buffers a chance. This thread takes a
  // SIGTERM before the point is left.
  raise(fault.signal);
}

}  // namespace slipway
