// What the launcher, the Ray driver and the agents on the nodes say to each
// other over pipes.
//
//   write(fd, Encode({Type::kData, seat, bytes}));
//   Decoder decoder;
//   decoder.Add(bytes, size);
//   Message message;
//   while (decoder.Next(message)) ...
//
// Header-only and of the standard library alone, since the driver is built for
// the other C++ ABI and may link nothing of ours. Both sides compile it;
// nothing but bytes passes between them. A seat is a place that the cluster has
// granted for one rank: the index of its bundle, from 0; which rank sits there,
// the launcher decides.
//
//   launcher                     driver                        agent
//     | <- kHello, kCluster        |
//     | kPlace ->                  | makes the placement group
//     | <- kPlaced or kRefused     |
//     | kPut, kStart ->            | actor starts the agent ->  |
//     | kData -> (its stdin)       | ------------------------>  |
//     | <- kData (its stdout)      | <------------------------  |
//     | <- kLog, kEnded, kLost     |
//     | closes the pipe            | ends all agents, and itself
//
// Inside kData travels the agents' stream, of the same messages: those from
// kFacts on.
#ifndef SLIPWAY_LAUNCHER_RAY_DRIVER_MESSAGES_H_
#define SLIPWAY_LAUNCHER_RAY_DRIVER_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace slipway::messages {

// Of everything below; both sides must have the same.
constexpr char kVersion[] = "1";

// Bytes of a stream travel in pieces of at most this size: Ray aborts the
// process on some replies above 100 KB.
constexpr size_t kMaxPiece = 64 << 10;
// A longer message is a stream that has lost its way.
constexpr size_t kMaxBody = 64 << 20;

enum class Type : uint8_t {
  // The driver to the launcher.
  kHello = 1,  // list: kVersion, Ray's version in the driver
  kCluster,    // list: Ray's version in the cluster, then a list per node of
               // id, address, host name, raylet's socket, total and free
               // resources ("CPU=2,GPU=1")
  kPlaced,     // seat; list: the node's address, its raylet's socket, pid,
               // "same" if the node has the launcher's program already
  kRefused,    // why there are no seats
  kEnded,      // seat; its agent has ended: "exit code 1", "SIGKILL"
  kLost,       // seat; why nothing more will come from it
  kLog,        // seat; bytes of the agent's standard error
  kHeadLost,   // the cluster's head does not answer
  // The launcher to the driver.
  kPlace = 20,  // list: strategy, seats, seconds to wait, "CPU=1,GPU=1",
                // "look" if the nodes are not known to be fit, folder for what
                // they lack ("": they lack nothing), launcher's program, its
                // SHA-256
  kPut,         // seat; list: path, mode in octal, "new" or "more", piece
  kStart,       // seat; list: the agent's argv, then "", then NAME=value
  // Both ways: a piece of the agent's stdin or stdout.
  kData = 40,

  // The agent to the launcher.
  kFacts = 60,   // JSON: see launcher/agent/agent.h
  kMeeting,      // JSON: {port} or {error}
  kUnpacked,     // JSON: see launcher/agent/files.h
  kStarted,      // JSON: {pid, cpus, cpu_error, memory_error}
  kStartFailed,  // JSON: {text, ended}
  kOut,          // bytes
  kErr,          // bytes
  kOutEnd,
  kErrEnd,
  kBeat,
  kStack,   // text
  kExited,  // JSON: {wait_status, out_of_memory}
  kAlive,   // once a second
  // The launcher to the agent.
  kMeet = 80,  // JSON: {address, port, listen}
  kManifest,   // JSON: likewise -> kUnpacked
  kFile,       // list: path, mode in octal, "new" or "more", piece
  kRun,        // JSON: see launcher/agent/agent.h
  kSignal,     // the number as text
  kDescribe,
  kFinish,  // kill what is left, say what there is to say, and end
};

struct Message {
  Type type = Type::kData;
  int32_t seat = 0;
  std::string body;
};

// Numbers have the sender's byte order: Ray's clusters are of one kind.
constexpr size_t kHeaderSize = 9;

inline std::string Encode(const Message& message) {
  const auto size = static_cast<uint32_t>(message.body.size());
  std::string bytes(kHeaderSize, '\0');
  std::memcpy(&bytes[0], &size, 4);
  bytes[4] = static_cast<char>(message.type);
  std::memcpy(&bytes[5], &message.seat, 4);
  return bytes + message.body;
}

class Decoder {
 public:
  void Add(const char* bytes, size_t size) { bytes_.append(bytes, size); }

  // The next whole message; false if there is none yet, or if the stream is
  // broken().
  bool Next(Message& message) {
    if (broken_ || bytes_.size() - at_ < kHeaderSize) return Rest();
    uint32_t size = 0;
    std::memcpy(&size, &bytes_[at_], 4);
    broken_ = size > kMaxBody;
    if (broken_ || bytes_.size() - at_ - kHeaderSize < size) return Rest();
    message.type = static_cast<Type>(bytes_[at_ + 4]);
    std::memcpy(&message.seat, &bytes_[at_ + 5], 4);
    message.body.assign(bytes_, at_ + kHeaderSize, size);
    at_ += kHeaderSize + size;
    return true;
  }

  bool broken() const { return broken_; }

 private:
  bool Rest() {
    bytes_.erase(0, std::exchange(at_, 0));
    return false;
  }

  std::string bytes_;
  size_t at_ = 0;
  bool broken_ = false;
};

// A list of texts as one, and back. False if it is none.
inline std::string Join(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) {
    const auto size = static_cast<uint32_t>(text.size());
    char header[4];
    std::memcpy(header, &size, 4);
    joined.append(header, 4);
    joined += text;
  }
  return joined;
}

inline bool Split(const std::string& joined, std::vector<std::string>& texts) {
  texts.clear();
  for (size_t at = 0; at < joined.size();) {
    uint32_t size = 0;
    if (joined.size() - at < 4) return false;
    std::memcpy(&size, &joined[at], 4);
    if (joined.size() - at - 4 < size) return false;
    texts.push_back(joined.substr(at + 4, size));
    at += 4 + size;
  }
  return true;
}

}  // namespace slipway::messages

#endif  // SLIPWAY_LAUNCHER_RAY_DRIVER_MESSAGES_H_
