// What ranks agree on before they swap eager for compiled code: all of them in
// the same step, to the same code.
//
//   Peers peers(dist::ProcessGroup::Find(dist::kWorldGroup));
//   const bool good = peers.All(status.ok());
//   seconds = peers.OfRank0(seconds);
//
// Every rank makes the same calls in the same order. Alone, they return what
// they are given. Throws c10::Error if a peer is lost.
#ifndef SLIPWAY_PLUGINS_COMPILE_PEERS_H_
#define SLIPWAY_PLUGINS_COMPILE_PEERS_H_

#include <vector>

#include "trainer/dist/process_group.h"

namespace slipway::compile {

class Peers {
 public:
  // Null: this process is alone. Borrowed.
  explicit Peers(dist::ProcessGroup* group) : group_(group) {}

  bool alone() const { return group_ == nullptr; }
  // Whether `mine` is true on all ranks.
  bool All(bool mine) const;
  // Rank 0's, as many as `mine`.
  std::vector<double> OfRank0(std::vector<double> mine) const;

 private:
  dist::ProcessGroup* group_;
};

}  // namespace slipway::compile

#endif  // SLIPWAY_PLUGINS_COMPILE_PEERS_H_
