// Makes one batch of one epoch: gets, transforms and joins its samples.
//
//   BatchMaker maker(parts, options, epoch);
//   BatchMaker::Result made = maker.Make(3, ForEachInOrder);
//
// Nothing here knows of threads: `for_each` decides where the samples are made,
// and the result is the same wherever that is. The second half of loader.h.
#ifndef SLIPWAY_TRAINER_DATA_BATCH_MAKER_H_
#define SLIPWAY_TRAINER_DATA_BATCH_MAKER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/data/dataset.h"
#include "trainer/data/image_rows.h"
#include "trainer/data/loader.h"
#include "trainer/data/shard.h"

namespace slipway::data {

// Calls its second argument with 0 .. n-1, from any threads, in any order.
using ForEach =
    absl::FunctionRef<void(int64_t, absl::FunctionRef<void(int64_t)>)>;

// Immutable; safe from several threads. Refers to `parts`, which must outlive
// it; parts.collate and parts.sampler are set.
class BatchMaker {
 public:
  BatchMaker(const LoaderParts& parts, const LoaderOptions& options,
             int64_t epoch);

  struct Result {
    // INVALID_ARGUMENT and what samples return, with the sample's index and the
    // transform's name before it. With OnBadSample::kSkip only if the batch
    // has no good sample at all.
    absl::StatusOr<Batch> batch;
    // What was left out, a message each.
    std::vector<std::string> skipped;
  };

  // Batches of this rank.
  int64_t size() const { return shard_.batches(); }
  // Batch `batch`, 0 <= batch < size().
  Result Make(int64_t batch, ForEach for_each) const;

 private:
  // Those of the batch; in evaluation without what only fills it up.
  std::vector<int64_t> Places(int64_t number) const;
  // The batch of these places, with nothing in it yet.
  Batch Ask(int64_t number, const std::vector<int64_t>& places) const;
  // The sample with its image in row `row`.
  absl::StatusOr<Sample> MakeSample(int64_t index, int64_t place, int64_t row,
                                    ImageRows& rows) const;
  absl::Status Transform(Sample& sample, int64_t place) const;
  // Leaves what failed out, or returns its error.
  absl::StatusOr<std::vector<Sample>> KeepGood(
      std::vector<absl::StatusOr<Sample>> made, Batch& batch,
      std::vector<std::string>& skipped) const;
  absl::Status Join(std::vector<Sample>& samples, int64_t number,
                    Batch& batch) const;

  const LoaderParts& parts_;
  const LoaderOptions& options_;
  const int64_t epoch_;
  const std::vector<int64_t> order_;
  const Shard shard_;
};

}  // namespace slipway::data

#endif  // SLIPWAY_TRAINER_DATA_BATCH_MAKER_H_
