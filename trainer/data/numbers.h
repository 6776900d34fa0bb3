// A data set of numbered images, and ways to fail and to be random, for tests.
//
//   LoaderParts parts = NumberParts(20);   // image i is full of i, its class i
//   parts.transforms.push_back(std::make_unique<Noise>());
#ifndef SLIPWAY_TRAINER_DATA_NUMBERS_H_
#define SLIPWAY_TRAINER_DATA_NUMBERS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ATen/ops/full.h"
#include "ATen/ops/scalar_tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/data/dataset.h"
#include "trainer/data/loader.h"
#include "trainer/recipe/node.h"

namespace slipway::data {

// `size` images float[1, 2, 2].
class Numbers : public Dataset {
 public:
  // Called with each index that is asked for, on whichever thread asks.
  using Visit = std::function<absl::Status(int64_t)>;

  explicit Numbers(int64_t size, Visit visit = {})
      : size_(size), visit_(std::move(visit)) {}

  int64_t size() const override { return size_; }

  absl::StatusOr<Sample> Get(int64_t index) const override {
    if (visit_) {
      absl::Status status = visit_(index);
      if (!status.ok()) return status;
    }
    Sample sample;
    sample.image = at::full({1, 2, 2}, static_cast<double>(index),
                            at::TensorOptions(at::kFloat));
    sample.target =
        Value(at::scalar_tensor(index, at::TensorOptions(at::kLong)));
    return sample;
  }

 private:
  const int64_t size_;
  const Visit visit_;
};

// Adds to each image a random number in [0, scale).
class Noise : public Transform {
 public:
  absl::Status Apply(Sample& sample, const Dataset&, Rng& rng) const override {
    sample.image = sample.image.add(rng.Uniform(0, scale_));
    return absl::OkStatus();
  }
  absl::Status Set(std::string_view parameter,
                   const recipe::Node& value) override {
    if (parameter != "scale") return Transform::Set(parameter, value);
    scale_ = value.AsDouble();
    return absl::OkStatus();
  }

 private:
  double scale_ = 0.5;
};

inline LoaderParts NumberParts(int64_t size, Numbers::Visit visit = {}) {
  LoaderParts parts;
  parts.dataset = std::make_unique<Numbers>(size, std::move(visit));
  return parts;
}

}  // namespace slipway::data

#endif  // SLIPWAY_TRAINER_DATA_NUMBERS_H_
