#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ATen/ops/stack.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "trainer/data/dataset.h"
#include "trainer/data/image_rows.h"

namespace slipway::data {
namespace {

using Field = Value Sample::*;

absl::Status CheckAlike(const std::vector<Sample>& samples,
                        const std::vector<int64_t>& indices, Field field,
                        std::string_view name) {
  const std::string first = (samples.front().*field).ShapeString();
  for (size_t i = 1; i < samples.size(); ++i) {
    const std::string shape = (samples[i].*field).ShapeString();
    if (shape == first) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("sample ", indices[i], ": its ", std::string(name), " is ",
                     shape, ", but that of sample ", indices[0], " is ", first,
                     "; name a collate_fn that joins what differs in shape"));
  }
  return absl::OkStatus();
}

// Equal entries lie at equal places of each sample's flattened value.
Value StackEntries(const std::vector<Sample>& samples, Field field) {
  std::vector<std::vector<at::Tensor>> entries;
  for (const Sample& sample : samples) {
    const std::vector<at::Tensor> tensors = (sample.*field).Flatten();
    entries.resize(tensors.size());
    for (size_t e = 0; e < tensors.size(); ++e)
      entries[e].push_back(tensors[e]);
  }
  std::vector<at::Tensor> stacked;
  for (const auto& entry : entries) stacked.push_back(at::stack(entry));
  return (samples.front().*field).Unflatten(stacked);
}

class Stack : public Collate {
 public:
  absl::Status Join(std::vector<Sample>& samples, Batch& batch,
                    Rng&) const override {
    absl::StatusOr<at::Tensor> images = StackImages(samples, batch.indices);
    if (!images.ok()) return images.status();
    batch.input = *std::move(images);
    absl::Status status = JoinField(samples, batch.indices, &Sample::target,
                                    "target", batch.target);
    status.Update(JoinField(samples, batch.indices, &Sample::extra,
                            "extra value", batch.extra));
    return status;
  }

 private:
  static absl::Status JoinField(const std::vector<Sample>& samples,
                                const std::vector<int64_t>& indices,
                                Field field, std::string_view name,
                                Value& joined) {
    absl::Status alike = CheckAlike(samples, indices, field, name);
    if (alike.ok()) joined = StackEntries(samples, field);
    return alike;
  }
};

}  // namespace

std::unique_ptr<Collate> StackCollate() { return std::make_unique<Stack>(); }

}  // namespace slipway::data
