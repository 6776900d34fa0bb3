// Gloo's view of a network interface, and of memory that travels over it. See
// gloo/context.h.
#ifndef SLIPWAY_TRAINER_DIST_GLOO_DECLARATIONS_GLOO_TRANSPORT_DEVICE_H_
#define SLIPWAY_TRAINER_DIST_GLOO_DECLARATIONS_GLOO_TRANSPORT_DEVICE_H_

namespace gloo::transport {

class Device;

// Complete, since LibTorch's header deletes it.
class UnboundBuffer {
 public:
  virtual ~UnboundBuffer() = 0;
};

}  // namespace gloo::transport

#endif  // SLIPWAY_TRAINER_DIST_GLOO_DECLARATIONS_GLOO_TRANSPORT_DEVICE_H_
