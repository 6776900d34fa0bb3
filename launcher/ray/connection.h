// The launcher's end of the pipes to the Ray driver, and through it to the
// agents.
//
//   absl::StatusOr<Connection> connection = Connection::Open(
//       {.argv = {driver, "--address=..."}, .environment = ..., .log = ...});
//   connection->Send({messages::Type::kPlace, -1, ...});
//   connection->Tell(seat, messages::Type::kSignal, "15");
//   poll(connection->Watched()) ...
//   for (const messages::Message& message : connection->Take()) ...
//
// What the agents say comes out of Take as messages of their own, with their
// seat, as if there were no driver between. Nothing waits. The driver and all
// that it starts here die with this object, or with this process.
#ifndef SLIPWAY_LAUNCHER_RAY_CONNECTION_H_
#define SLIPWAY_LAUNCHER_RAY_CONNECTION_H_

#include <poll.h>

#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launcher/ray_driver/messages.h"
#include "launcher/supervisor/pipes.h"
#include "launcher/supervisor/reaper.h"

namespace slipway::launcher {

struct ConnectionRequest {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  // What the driver and the agents print goes there; "": nowhere.
  std::string log;
  // How long the driver may take to leave the cluster in the end.
  absl::Duration patience = absl::Seconds(5);
};

class Connection {
 public:
  // Forks; call it before any thread is started.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(
      const ConnectionRequest& request);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Send(const messages::Message& message);
  // To the agent on a seat.
  void Tell(int seat, messages::Type type, const std::string& body);

  // Whether what was sent is on its way, so that more of it may come.
  bool HasRoom() const { return unsent_.size() < (1 << 20); }

  std::vector<pollfd> Watched() const;
  std::vector<messages::Message> Take();

  // The driver has ended, and all that it said has been taken.
  bool gone() const { return !from_; }
  // The last line that says something of what it printed.
  std::string LastWords() const { return last_words_; }

 private:
  explicit Connection(const ConnectionRequest& request);

  void Flush();
  void TakeMessage(messages::Message message,
                   std::vector<messages::Message>& taken);
  void TakeLog();
  void Print(const std::string& text);
  void TakeLine(const std::string& line);

  absl::Duration patience_;
  std::ofstream log_;
  std::string last_words_;
  bool check_failed_ = false;
  std::string partial_line_;
  Descriptor to_;
  Descriptor from_;
  Descriptor err_;
  std::optional<Reaper> reaper_;
  std::string unsent_;
  messages::Decoder decoder_;
  std::map<int, messages::Decoder> agents_;
};

}  // namespace slipway::launcher

#endif  // SLIPWAY_LAUNCHER_RAY_CONNECTION_H_
