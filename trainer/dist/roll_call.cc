#include "trainer/dist/roll_call.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "torch/csrc/distributed/c10d/Store.hpp"

namespace slipway::dist {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr char kHere[] = "here";    // answers
constexpr char kLeft[] = "left";    // left, and why
constexpr char kRead[] = "read";    // needs the store no more
constexpr milliseconds kPause{10};  // between two looks
constexpr milliseconds kFarewell{2000};

std::string Key(const std::string& kind, int rank) {
  return absl::StrCat("roll_call/", kind, "/", rank);
}

}  // namespace

RollCall::RollCall(c10::intrusive_ptr<c10d::Store> store, int rank,
                   int world_size, bool serves)
    : store_(std::move(store)),
      rank_(rank),
      world_size_(world_size),
      serves_(serves) {}

Absent RollCall::Answer() {
  try {
    return Look();
  } catch (const std::exception&) {
    // The store is gone. It was rank 0's, or a launcher's that has ended.
    return {.ranks = rank_ == 0 ? std::vector<int>() : std::vector<int>{0}};
  }
}

Absent RollCall::Look() {
  store_->setTimeout(kPatience);
  Write(kHere, "");
  const Clock::time_point start = Clock::now();
  Clock::time_point deadline = start + kPatience;
  std::vector<int> missing = Without(kHere);
  bool one_left = false;
  while (!missing.empty() && Clock::now() < deadline) {
    if (missing.size() == 1 && !one_left) {
      one_left = true;
      deadline = std::min(deadline, Clock::now() + kLastOne);
    }
    std::this_thread::sleep_for(kPause);
    missing = Without(kHere);
  }
  Absent absent;
  for (int rank = 0; rank < world_size_; ++rank) {
    if (!Has(kLeft, rank)) continue;
    const std::vector<uint8_t> text = store_->get(Key(kLeft, rank));
    absent.reasons.push_back(absl::StrCat(
        "rank ", rank, ": ", std::string(text.begin(), text.end())));
  }
  absent.ranks = std::move(missing);
  Write(kRead, "");
  Stay(Until::kAnswersRead);
  return absent;
}

void RollCall::Leave(const std::string& reason) {
  try {
    store_->setTimeout(kPatience);
    Write(kLeft, reason);
    Write(kRead, "");
  } catch (const std::exception&) {
    // Nobody is left to be told.
  }
}

void RollCall::Stay(Until until) {
  if (!serves_) return;
  const auto waits_for = [&](int rank) {
    return !Has(kRead, rank) && (until == Until::kAllRead || Has(kHere, rank));
  };
  const Clock::time_point deadline = Clock::now() + kFarewell;
  int rank = 0;
  while (rank < world_size_ && Clock::now() < deadline) {
    if (waits_for(rank)) {
      std::this_thread::sleep_for(kPause);
    } else {
      ++rank;
    }
  }
}

void RollCall::StayForOthers() {
  try {
    Stay(Until::kAllRead);
  } catch (const std::exception&) {
    // A store that is this process's own does not fail.
  }
}

bool RollCall::Has(const std::string& kind, int rank) const {
  return store_->check({Key(kind, rank)});
}

std::vector<int> RollCall::Without(const std::string& kind) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < world_size_; ++rank) {
    if (!Has(kind, rank)) ranks.push_back(rank);
  }
  return ranks;
}

void RollCall::Write(const std::string& kind, const std::string& text) {
  store_->set(Key(kind, rank_), std::vector<uint8_t>(text.begin(), text.end()));
}

}  // namespace slipway::dist
