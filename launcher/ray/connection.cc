#include "launcher/ray/connection.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

namespace slipway::launcher {
namespace {

using messages::Message;
using messages::Type;

constexpr size_t kLongestWords = 400;

// What is there to read, as far as it comes without waiting; closes `fd` at its
// end.
std::string ReadAll(Descriptor& fd) {
  std::string text;
  char bytes[64 << 10];
  while (fd) {
    const ssize_t got = read(fd.get(), bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      fd.Close();
      break;
    }
    text.append(bytes, static_cast<size_t>(got));
  }
  return text;
}

}  // namespace

Connection::Connection(const ConnectionRequest& request)
    : patience_(request.patience) {
  if (!request.log.empty()) {
    log_.open(request.log, std::ios::binary | std::ios::app);
  }
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(
    const ConnectionRequest& request) {
  auto connection = std::unique_ptr<Connection>(new Connection(request));
  absl::StatusOr<Pipe> in = MakePipe();
  if (!in.ok()) return in.status();
  absl::StatusOr<Pipe> out = MakePipe();
  if (!out.ok()) return out.status();
  absl::StatusOr<Pipe> err = MakePipe();
  if (!err.ok()) return err.status();
  // The driver waits for its input; this process for nothing.
  fcntl(in->read.get(), F_SETFL, 0);
  MakeNonBlocking(in->write.get());
  RankProgram program = {.argv = request.argv,
                         .environment = request.environment,
                         .stdin_fd = in->read.get(),
                         .stdout_fd = out->write.get(),
                         .stderr_fd = err->write.get(),
                         .callers_fds = {in->write.get()}};
  std::vector<RankProgram> programs;
  programs.push_back(std::move(program));
  absl::StatusOr<Reaper> reaper = Reaper::Start(programs, BindMode::kNone);
  if (!reaper.ok()) return reaper.status();
  connection->reaper_.emplace(*std::move(reaper));
  connection->to_ = std::move(in->write);
  connection->from_ = std::move(out->read);
  connection->err_ = std::move(err->read);
  return connection;
}

Connection::~Connection() {
  Flush();
  to_.Close();
  // It gives the seats back; Ray would find out by itself, but later.
  const absl::Time end = absl::Now() + patience_;
  while (from_ && absl::Now() < end) {
    pollfd fd = {from_.get(), POLLIN, 0};
    poll(&fd, 1, 10);
    ReadAll(from_);
    TakeLog();
  }
  if (reaper_) reaper_->Finish();
}

void Connection::Send(const Message& message) {
  unsent_ += messages::Encode(message);
  Flush();
}

void Connection::Tell(int seat, Type type, const std::string& body) {
  const std::string bytes = messages::Encode({type, seat, body});
  for (size_t at = 0; at < bytes.size(); at += messages::kMaxPiece) {
    Send({Type::kData, seat, bytes.substr(at, messages::kMaxPiece)});
  }
}

void Connection::Flush() {
  size_t at = 0;
  while (to_ && at < unsent_.size()) {
    const ssize_t wrote = write(to_.get(), &unsent_[at], unsent_.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) break;
    at += static_cast<size_t>(wrote);
  }
  unsent_.erase(0, at);
}

std::vector<pollfd> Connection::Watched() const {
  std::vector<pollfd> fds = {{from_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
  if (!unsent_.empty()) fds.push_back({to_.get(), POLLOUT, 0});
  return fds;
}

std::vector<Message> Connection::Take() {
  Flush();
  TakeLog();
  const std::string bytes = ReadAll(from_);
  decoder_.Add(bytes.data(), bytes.size());
  std::vector<Message> taken;
  Message message;
  while (decoder_.Next(message)) TakeMessage(std::move(message), taken);
  return taken;
}

void Connection::TakeMessage(Message message, std::vector<Message>& taken) {
  if (message.type == Type::kLog) return Print(message.body);
  if (message.type != Type::kData) {
    taken.push_back(std::move(message));
    return;
  }
  messages::Decoder& agent = agents_[message.seat];
  agent.Add(message.body.data(), message.body.size());
  Message said;
  while (agent.Next(said)) {
    said.seat = message.seat;
    taken.push_back(std::move(said));
  }
  if (agent.broken()) {
    taken.push_back(
        {Type::kLost, message.seat, "its agent writes what is no message"});
  }
}

void Connection::TakeLog() { Print(ReadAll(err_)); }

void Connection::Print(const std::string& text) {
  if (text.empty()) return;
  if (log_.is_open()) log_ << text << std::flush;
  std::vector<std::string> lines =
      absl::StrSplit(absl::StrCat(partial_line_, text), '\n');
  partial_line_ = lines.back();
  lines.pop_back();
  for (const std::string& line : lines) TakeLine(line);
}

void Connection::TakeLine(const std::string& line) {
  // How Ray ends a process; what follows is its stack.
  constexpr absl::string_view kCheck = "Check failed: ";
  const size_t check = line.find(kCheck.data());
  if (check != line.npos) {
    check_failed_ = true;
    last_words_ = line.substr(check, kLongestWords);
  }
  if (check_failed_ || line.find_first_not_of(" *-=\r") == line.npos) return;
  last_words_ = line.substr(0, kLongestWords);
}

}  // namespace slipway::launcher
