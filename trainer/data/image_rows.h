// The images of one batch as rows of one tensor, from the start.
//
//   ImageRows rows(batch_size);
//   sample.image = rows.Place(i, sample.image);   // on the threads that made
//   it absl::StatusOr<at::Tensor> input = StackImages(samples, indices);
//
// Each thread copies its own image while it is still warm in its cache, so that
// joining a batch copies nothing. The loader does the first half for every
// collate.
#ifndef SLIPWAY_TRAINER_DATA_IMAGE_ROWS_H_
#define SLIPWAY_TRAINER_DATA_IMAGE_ROWS_H_

#include <cstdint>
#include <mutex>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/statusor.h"
#include "trainer/data/dataset.h"

namespace slipway::data {

// Safe to use from several threads, each with rows of its own.
class ImageRows {
 public:
  explicit ImageRows(int64_t count) : count_(count) {}

  // A copy of `image` in row `row`, 0 <= row < count, which keeps the whole
  // tensor alive; the image itself if it differs in shape or type from the
  // first one that came, or is undefined.
  at::Tensor Place(int64_t row, const at::Tensor& image);

 private:
  at::Tensor RowsLike(const at::Tensor& image);

  const int64_t count_;
  std::mutex mutex_;
  at::Tensor rows_;
};

// The samples' images as one tensor [n, ...]: without a copy where they are all
// the rows of one tensor, in order. `indices` (Batch::indices) name the first
// image of another shape or type in INVALID_ARGUMENT.
absl::StatusOr<at::Tensor> StackImages(const std::vector<Sample>& samples,
                                       const std::vector<int64_t>& indices);

}  // namespace slipway::data

#endif  // SLIPWAY_TRAINER_DATA_IMAGE_ROWS_H_
