#include "launcher/ray/ray_ranks.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "launcher/topology/cpu_set.h"
#include "nlohmann/json.hpp"

namespace slipway::launcher {
namespace {

using messages::Message;
using messages::Type;
using nlohmann::json;
using Kind = RankEvent::Kind;

BindingResult BindingFrom(const json& started) {
  BindingResult result = {.cpu_error = started.at("cpu_error"),
                          .memory_error = started.at("memory_error")};
  const absl::StatusOr<CpuSet> cpus =
      CpuSet::Parse(started.at("cpus").get<std::string>());
  if (!cpus.ok()) return result;
  for (const int cpu : *cpus) {
    if (cpu < Binding::kMaxCpus) result.cpu_mask[cpu / 64] |= 1UL << (cpu % 64);
  }
  return result;
}

// The event that a message of the agent's is. Throws what nlohmann::json does.
RankEvent EventFrom(int rank, const Message& message) {
  RankEvent event = {.rank = rank};
  switch (message.type) {
    case Type::kStarted: {
      const json started = json::parse(message.body);
      event.kind = Kind::kStarted;
      event.pid = started.at("pid");
      event.binding = BindingFrom(started);
      return event;
    }
    case Type::kStartFailed: {
      const json failed = json::parse(message.body);
      event.kind = Kind::kStartFailed;
      event.text = failed.at("text");
      event.ended = failed.at("ended");
      return event;
    }
    case Type::kExited: {
      const json exited = json::parse(message.body);
      event.kind = Kind::kExited;
      event.wait_status = exited.at("wait_status");
      event.out_of_memory = exited.at("out_of_memory");
      return event;
    }
    case Type::kOut:
      event.kind = Kind::kOut;
      break;
    case Type::kErr:
      event.kind = Kind::kErr;
      break;
    case Type::kOutEnd:
      event.kind = Kind::kOutEnd;
      break;
    case Type::kErrEnd:
      event.kind = Kind::kErrEnd;
      break;
    case Type::kStack:
      event.kind = Kind::kStack;
      break;
    default:
      event.kind = Kind::kBeat;
  }
  event.text = message.body;
  return event;
}

bool IsEvent(Type type) {
  return type >= Type::kStarted && type <= Type::kExited;
}

}  // namespace

RayRanks::RayRanks(std::unique_ptr<Connection> connection,
                   std::vector<RankSeat> seats)
    : connection_(std::move(connection)) {
  for (RankSeat& place : seats) {
    const auto seat = static_cast<size_t>(place.seat);
    if (rank_of_seat_.size() <= seat) rank_of_seat_.resize(seat + 1, -1);
    rank_of_seat_[seat] = size();
    ranks_.push_back({.place = std::move(place), .last_heard = absl::Now()});
  }
}

absl::Time RayRanks::Deadline() const {
  absl::Time next = give_up_;
  for (const Rank& rank : ranks_) {
    if (rank.open()) next = std::min(next, rank.last_heard + kSilence);
  }
  return next;
}

std::vector<RankEvent> RayRanks::Take() {
  for (const Message& message : connection_->Take()) Translate(message);
  if (connection_->gone()) {
    const std::string words = connection_->LastWords();
    LoseAll(absl::StrCat("the Ray driver has ended", words.empty() ? "" : ": ",
                         words));
  }
  CheckSilence(absl::Now());
  return std::exchange(events_, {});
}

void RayRanks::Translate(const Message& message) {
  if (message.type == Type::kHeadLost) {
    return LoseAll("the head of the Ray cluster does not answer");
  }
  const auto seat = static_cast<size_t>(message.seat);
  if (message.seat < 0 || seat >= rank_of_seat_.size() ||
      rank_of_seat_[seat] < 0) {
    return;
  }
  TranslateOfRank(rank_of_seat_[seat], message);
}

void RayRanks::TranslateOfRank(int index, const Message& message) {
  Rank& rank = ranks_[static_cast<size_t>(index)];
  rank.last_heard = absl::Now();
  if (rank.lost) return;
  if (message.type == Type::kLost) return Lose(index, message.body);
  if (message.type == Type::kEnded) {
    // What it had to say came before.
    rank.ended = !rank.out_open && !rank.err_open;
    if (!rank.ended) {
      Lose(index, absl::StrCat("its agent has ended: ", message.body));
    }
    return;
  }
  if (!IsEvent(message.type)) return;
  try {
    events_.push_back(EventFrom(index, message));
  } catch (const json::exception& error) {
    return Lose(index, error.what());
  }
  if (message.type == Type::kOutEnd) rank.out_open = false;
  if (message.type == Type::kErrEnd) rank.err_open = false;
}

void RayRanks::Lose(int index, const std::string& why) {
  Rank& rank = ranks_[static_cast<size_t>(index)];
  if (rank.lost) return;
  rank.lost = true;
  events_.push_back({.kind = Kind::kOutEnd, .rank = index});
  events_.push_back({.kind = Kind::kErrEnd, .rank = index});
  events_.push_back(
      {.kind = Kind::kLost,
       .rank = index,
       .text = absl::StrCat("lost on ", rank.place.node, ": ", why)});
}

void RayRanks::LoseAll(const std::string& why) {
  for (int i = 0; i < size(); ++i) Lose(i, why);
}

void RayRanks::CheckSilence(absl::Time now) {
  for (int i = 0; i < size(); ++i) {
    const Rank& rank = ranks_[static_cast<size_t>(i)];
    if (rank.open() && now >= rank.last_heard + kSilence) {
      Lose(i, absl::StrCat("no sign of life for ",
                           absl::FormatDuration(kSilence)));
    }
  }
  if (now < give_up_) return;
  give_up_ = absl::InfiniteFuture();
  LoseAll("it did not end in time");
}

void RayRanks::Signal(int rank, int signal) {
  for (int i = 0; i < size(); ++i) {
    Rank& one = ranks_[static_cast<size_t>(i)];
    if ((rank >= 0 && rank != i) || one.lost) continue;
    connection_->Tell(one.place.seat, Type::kSignal, absl::StrCat(signal));
    // Whoever was stopped has not listened.
    if (signal == SIGCONT) one.last_heard = absl::Now();
  }
  if (signal == SIGKILL && rank < 0) give_up_ = absl::Now() + kLastWait;
}

void RayRanks::Describe(int rank) {
  const Rank& one = ranks_[static_cast<size_t>(rank)];
  if (!one.lost) connection_->Tell(one.place.seat, Type::kDescribe, "");
}

void RayRanks::Finish() {
  // Those that are given up may still hear it.
  for (const Rank& rank : ranks_) {
    connection_->Tell(rank.place.seat, Type::kFinish, "");
  }
  give_up_ = std::min(give_up_, absl::Now() + kLastWait);
}

bool RayRanks::IsOpen() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const Rank& rank) { return rank.open(); });
}

}  // namespace slipway::launcher
