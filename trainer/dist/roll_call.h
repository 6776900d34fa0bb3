// Who is still there after something went wrong between the ranks.
//
//   RollCall roll_call(store, rank, world_size);
//   const Absent absent = roll_call.Answer();   // on every rank that is left
//   absent.ranks;     // {2}: it has not answered
//   absent.reasons;   // {"rank 2: cannot read 4.jpg"}: it has told why it left
//
// An error of a connection does not say whose end it was. So every rank that
// sees one writes its name into the store, where the others look for it.
// Internal to this folder; nothing here throws.
#ifndef SLIPWAY_TRAINER_DIST_ROLL_CALL_H_
#define SLIPWAY_TRAINER_DIST_ROLL_CALL_H_

#include <chrono>
#include <string>
#include <vector>

#include "c10/util/intrusive_ptr.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace slipway::dist {

struct Absent {
  std::vector<int> ranks;
  std::vector<std::string> reasons;
};

class RollCall {
 public:
  // How long others may take to notice, and how long the last one that is
  // missing has after all others.
  static constexpr std::chrono::milliseconds kPatience{5000};
  static constexpr std::chrono::milliseconds kLastOne{300};

  // `serves`: this process serves the store, and so stays until the others have
  // read it.
  RollCall(c10::intrusive_ptr<c10d::Store> store, int rank, int world_size,
           bool serves);

  // Says that this rank is here, and waits until all others have, or seem
  // absent. Where the store is gone, whoever serves it is.
  Absent Answer();

  // Says that this rank leaves, and why.
  void Leave(const std::string& reason);

  // Where this process serves the store: waits, for two seconds at most, until
  // the others have read what they need.
  void StayForOthers();

 private:
  enum class Until { kAnswersRead, kAllRead };

  bool Has(const std::string& kind, int rank) const;
  std::vector<int> Without(const std::string& kind) const;
  void Write(const std::string& kind, const std::string& text);
  Absent Look();
  void Stay(Until until);

  c10::intrusive_ptr<c10d::Store> store_;
  int rank_;
  int world_size_;
  bool serves_;
};

}  // namespace slipway::dist

#endif  // SLIPWAY_TRAINER_DIST_ROLL_CALL_H_
