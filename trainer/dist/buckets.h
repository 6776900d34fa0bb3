// Which parameters travel together, and the memory in which they do. Internal
// to this folder.
#ifndef SLIPWAY_TRAINER_DIST_BUCKETS_H_
#define SLIPWAY_TRAINER_DIST_BUCKETS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/dist/gradient_sync.h"

namespace slipway::dist {

// A run of memory: the members' gradients one after the other, then a number
// for each member that says whether its rank has one, then `notes` more.
struct Bucket {
  std::vector<size_t> members;    // positions among the parameters
  std::vector<at::Tensor> views;  // a member's place, as it is shaped
  at::Tensor flat;
  at::Tensor used;   // of flat
  at::Tensor notes;  // of flat
};

// Splits `parameters` into buckets of one type and device each, from the last
// parameter to the first. The first bucket has `notes` numbers of room.
std::vector<Bucket> MakeBuckets(const std::vector<at::Tensor>& parameters,
                                const BucketSizes& sizes, int notes);

// Makes `view`, a member's place, lie as `parameter` does, whose strides may
// change in the course of a training (channels_last).
void FollowStrides(const at::Tensor& parameter, at::Tensor& view);

}  // namespace slipway::dist

#endif  // SLIPWAY_TRAINER_DIST_BUCKETS_H_
