// A listening socket at a free port of this machine, as a launcher hands it to
// rank 0 for its store.
#ifndef SLIPWAY_TESTS_DIST_LISTENER_H_
#define SLIPWAY_TESTS_DIST_LISTENER_H_

namespace slipway {

struct Listener {
  Listener();
  // Closes it; children that have it keep it.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int fd = -1;
  int port = 0;
};

}  // namespace slipway

#endif  // SLIPWAY_TESTS_DIST_LISTENER_H_
