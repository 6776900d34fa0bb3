#include "trainer/data/image_rows.h"

#include "ATen/ops/empty.h"
#include "ATen/ops/stack.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace slipway::data {
namespace {

bool Alike(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && b.defined() && a.sizes() == b.sizes() &&
         a.scalar_type() == b.scalar_type();
}

std::vector<int64_t> WithRows(int64_t count, at::IntArrayRef sizes) {
  std::vector<int64_t> shape = {count};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  return shape;
}

bool AreAdjacentRows(const std::vector<Sample>& samples) {
  const at::Tensor& first = samples.front().image;
  for (size_t i = 0; i < samples.size(); ++i) {
    const at::Tensor& image = samples[i].image;
    const int64_t offset = static_cast<int64_t>(i) * first.numel();
    if (!image.is_contiguous() || !image.is_alias_of(first) ||
        image.storage_offset() != first.storage_offset() + offset) {
      return false;
    }
  }
  return true;
}

at::Tensor JoinRows(const std::vector<Sample>& samples) {
  const at::Tensor& first = samples.front().image;
  const int64_t count = static_cast<int64_t>(samples.size());
  return first.as_strided(WithRows(count, first.sizes()),
                          WithRows(first.numel(), first.strides()));
}

at::Tensor CopyRows(const std::vector<Sample>& samples) {
  std::vector<at::Tensor> images;
  images.reserve(samples.size());
  for (const Sample& sample : samples) images.push_back(sample.image);
  return at::stack(images);
}

}  // namespace

at::Tensor ImageRows::RowsLike(const at::Tensor& image) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!rows_.defined()) {
    rows_ = at::empty(WithRows(count_, image.sizes()), image.options());
  }
  return rows_;
}

at::Tensor ImageRows::Place(int64_t row, const at::Tensor& image) {
  if (!image.defined()) return image;
  at::Tensor place = RowsLike(image).select(0, row);
  if (!Alike(place, image)) return image;
  return place.copy_(image);
}

absl::StatusOr<at::Tensor> StackImages(const std::vector<Sample>& samples,
                                       const std::vector<int64_t>& indices) {
  const at::Tensor& first = samples.front().image;
  for (size_t i = 0; i < samples.size(); ++i) {
    const at::Tensor& image = samples[i].image;
    if (Alike(image, first)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "sample ", indices[i], ": its image is ", Value(image).ShapeString(),
        ", but that of sample ", indices[0], " is ", Value(first).ShapeString(),
        "; crop, pad or resize them to one size"));
  }
  return AreAdjacentRows(samples) ? JoinRows(samples) : CopyRows(samples);
}

}  // namespace slipway::data
