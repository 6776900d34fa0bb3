#include "trainer/dist/buckets.h"

#include <map>
#include <string>
#include <utility>

#include "ATen/ops/zeros.h"

namespace slipway::dist {
namespace {

using Kind = std::pair<at::ScalarType, std::string>;

Kind KindOf(const at::Tensor& parameter) {
  return {parameter.scalar_type(), parameter.device().str()};
}

bool IsDense(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->is_non_overlapping_and_dense();
}

// As the parameter lies in memory: optimizers ask that of gradients.
at::Tensor ViewOf(const at::Tensor& flat, const at::Tensor& parameter,
                  int64_t offset) {
  if (!IsDense(parameter)) {
    return flat.narrow(0, offset, parameter.numel()).view(parameter.sizes());
  }
  return flat.as_strided(parameter.sizes(), parameter.strides(), offset);
}

void Allocate(const std::vector<at::Tensor>& parameters, int notes,
              Bucket& bucket) {
  int64_t values = 0;
  for (const size_t member : bucket.members) {
    values += parameters[member].numel();
  }
  const int64_t members = static_cast<int64_t>(bucket.members.size());
  bucket.flat = at::zeros({values + members + notes},
                          parameters[bucket.members[0]].options());
  bucket.used = bucket.flat.narrow(0, values, members);
  bucket.notes = bucket.flat.narrow(0, values + members, notes);
  int64_t offset = 0;
  for (const size_t member : bucket.members) {
    bucket.views.push_back(ViewOf(bucket.flat, parameters[member], offset));
    offset += parameters[member].numel();
  }
}

}  // namespace

void FollowStrides(const at::Tensor& parameter, at::Tensor& view) {
  if (view.strides() == parameter.strides() || !IsDense(parameter)) return;
  view = view.as_strided(parameter.sizes(), parameter.strides(),
                         view.storage_offset());
}

std::vector<Bucket> MakeBuckets(const std::vector<at::Tensor>& parameters,
                                const BucketSizes& sizes, int notes) {
  std::vector<Bucket> buckets;
  std::map<Kind, size_t> open;  // the bucket of a kind that takes more
  std::vector<int64_t> bytes;
  for (size_t i = parameters.size(); i-- > 0;) {
    const Kind kind = KindOf(parameters[i]);
    const auto found = open.find(kind);
    const int64_t limit = found != open.end() && found->second == 0
                              ? sizes.first_bytes
                              : sizes.bytes;
    if (found == open.end() || bytes[found->second] >= limit) {
      open[kind] = buckets.size();
      buckets.emplace_back();
      bytes.push_back(0);
    }
    const size_t bucket = open[kind];
    buckets[bucket].members.push_back(i);
    bytes[bucket] += static_cast<int64_t>(parameters[i].nbytes());
  }
  for (size_t i = 0; i < buckets.size(); ++i) {
    Allocate(parameters, i == 0 ? notes : 0, buckets[i]);
  }
  return buckets;
}

}  // namespace slipway::dist
