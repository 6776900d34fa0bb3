// What a data set, a transform, a collate and a sampler are.
//
//   class Digits : public data::Dataset {
//     int64_t size() const override { return 1437; }
//     absl::StatusOr<data::Sample> Get(int64_t index) const override;
//   };
//
// One sample's way: Dataset::Get -> each Transform in order -> Collate with the
// other samples of its batch. All of it runs on the pipeline's threads: every
// const method here must be safe to call from several threads at once, and all
// randomness comes from the Rng that is passed in, so that results depend
// neither on the number of threads nor on their order. A sample's stream is
// keyed by its place in the epoch's order: a sample that an epoch shows twice
// is not augmented twice in the same way.
//
// What these methods throw (c10::Error, std::bad_alloc) the loader turns into a
// Status that names the sample.
#ifndef SLIPWAY_TRAINER_DATA_DATASET_H_
#define SLIPWAY_TRAINER_DATA_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/abi/api_1_1/trainer/data/rng.h"
#include "tests/abi/api_1_1/trainer/nn/value.h"
#include "tests/abi/api_1_1/trainer/recipe/node.h"

namespace slipway::data {

struct Sample {
  // An image: uint8[height, width, channels] as decoded, or
  // float[channels, height, width] after ToTensor.
  at::Tensor image;
  // A class (long[]), a mask (long[height, width]), boxes, or a map of those.
  Value target;
  // Anything else that transforms and collates pass on (image size, path).
  Value extra;
};

struct Batch {
  Value input;   // usually float[batch, channels, height, width]
  Value target;  // usually long[batch], or float[batch, classes] (dense)
  Value extra;
  // The samples' indices in the data set, in order.
  std::vector<int64_t> indices;
  // Of those, how many are real; the rest fill up a rank's share and count in
  // no metric.
  int64_t valid = 0;

  int64_t size() const { return static_cast<int64_t>(indices.size()); }
};

class Dataset {
 public:
  virtual ~Dataset();
  virtual int64_t size() const = 0;
  // The sample before transforms. 0 <= index < size(). Errors name the file.
  virtual absl::StatusOr<Sample> Get(int64_t index) const = 0;
  // Class names, if there are any, by class number.
  virtual std::vector<std::string> ClassNames() const { return {}; }
  // Another index's raw sample is all a mosaic or a mixup of samples needs;
  // such transforms get the data set through Transform::Apply.
};

class Transform {
 public:
  virtual ~Transform();
  // Changes `sample`. `dataset` is for transforms that mix in other samples.
  virtual absl::Status Apply(Sample& sample, const Dataset& dataset,
                             Rng& rng) const = 0;
  // Sets a named parameter from the next epoch on ("size", "probability");
  // called between epochs only, when no pipeline runs. NOT_FOUND if unknown.
  virtual absl::Status Set(std::string_view parameter,
                           const recipe::Node& value);
};

class Collate {
 public:
  virtual ~Collate();
  // Fills `input`, `target` and `extra` of a batch whose `indices` are set.
  // `samples` is never empty and may be moved from. Images of equal shape are
  // already rows of one tensor; image_rows.h has the function that takes them
  // as they lie.
  virtual absl::Status Join(std::vector<Sample>& samples, Batch& batch,
                            Rng& rng) const = 0;
  virtual absl::Status Set(std::string_view parameter,
                           const recipe::Node& value);
};

// Which samples an epoch shows, in which order.
class Sampler {
 public:
  virtual ~Sampler();
  // Samples in an epoch, over all ranks: the length of every Order().
  virtual int64_t size() const = 0;
  // The whole epoch's order over all ranks; sharding by rank is the loader's.
  // Indices of the data set; they may repeat.
  virtual std::vector<int64_t> Order(int64_t epoch) const = 0;
  virtual absl::Status Set(std::string_view parameter,
                           const recipe::Node& value);
};

// 0..n-1 in order, or shuffled anew each epoch by Rng(seed, epoch).
std::unique_ptr<Sampler> SequentialSampler(int64_t size);
std::unique_ptr<Sampler> ShuffleSampler(int64_t size, uint64_t seed);
// `samples` samples an epoch of a data set of `size`: as many passes over it as
// that takes, the last one cut short, each shuffled by itself.
std::unique_ptr<Sampler> RepeatSampler(int64_t size, int64_t samples,
                                       uint64_t seed);

// Stacks images and targets: input [n, ...] of the images' type (float after
// ToTensor), target [n, ...]; maps and lists are stacked entry by entry.
// INVALID_ARGUMENT names the first sample whose shape differs.
std::unique_ptr<Collate> StackCollate();

}  // namespace slipway::data

#endif  // SLIPWAY_TRAINER_DATA_DATASET_H_
