// The actor that carries an agent: it starts the agent's process on its node
// and passes bytes between that and the driver. What the agent does with them
// is none of its business.
//
// Compiled twice: into libagent_actor.so, which Ray's workers load, and into
// the driver, which calls its methods by name. Methods may run side by side. An
// agent whose actor dies, however that is, finds its input closed and ends.
#ifndef SLIPWAY_LAUNCHER_RAY_DRIVER_AGENT_ACTOR_H_
#define SLIPWAY_LAUNCHER_RAY_DRIVER_AGENT_ACTOR_H_

#include <ray/api.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace slipway {

// Where an actor is.
struct SeatFacts {
  std::string address;        // of its node
  std::string raylet_socket;  // which tells nodes on one address apart
  int pid = 0;
  MSGPACK_DEFINE(address, raylet_socket, pid);
};

// What an agent has said since it was asked last.
struct Piece {
  std::string out;    // at most messages::kMaxPiece bytes
  std::string log;    // of its standard error
  std::string ended;  // how, once it has; nothing follows
  MSGPACK_DEFINE(out, log, ended);
};

class AgentActor {
 public:
  static AgentActor* Create() { return new AgentActor(); }

  SeatFacts Facts();
  // Writes, or appends, to a file. Returns what went wrong, or "".
  std::string Put(std::string path, int mode, bool append, std::string bytes);
  // Starts the agent. Likewise.
  std::string Start(std::vector<std::string> argv,
                    std::vector<std::string> environment);
  // To its standard input. Likewise.
  std::string Write(std::string bytes);
  // Waits until there is something, or for so long.
  Piece Read(int milliseconds);

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
};

}  // namespace slipway

#endif  // SLIPWAY_LAUNCHER_RAY_DRIVER_AGENT_ACTOR_H_
