// JSON as the body of a message between launcher and agents.
//
//   Send(Type::kMeeting, DumpBody({{"port", 1234}}));
//
#ifndef SLIPWAY_LAUNCHER_AGENT_BODY_H_
#define SLIPWAY_LAUNCHER_AGENT_BODY_H_

#include <string>

#include "nlohmann/json.hpp"

namespace slipway::launcher {

// One line. Bytes that are no UTF-8, as names of files may have, are replaced.
inline std::string DumpBody(const nlohmann::json& body) {
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_AGENT_BODY_H_
