// The pipeline from samples to batches: decode, transform and collate on
// oneTBB threads, with bounded prefetch, in the same order whatever the number
// of threads.
//
//   Loader loader(std::move(parts), {.batch_size = 32, .shuffle = true});
//   std::unique_ptr<Epoch> batches = loader.Begin(epoch);
//   while (true) {
//     absl::StatusOr<std::optional<Batch>> batch = batches->Next();
//     if (!batch.ok() || !batch->has_value()) break;
//     Train(**batch);
//   }
//
// A Loader is used from one thread; the threads inside are its own business.
// Nothing of an epoch is read before Begin() (so that EpochBegin hooks may set
// parameters of transforms), and destroying an Epoch stops its threads.
#ifndef SLIPWAY_TRAINER_DATA_LOADER_H_
#define SLIPWAY_TRAINER_DATA_LOADER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/data/dataset.h"
#include "trainer/recipe/node.h"

namespace slipway::data {

struct LoaderParts {
  std::unique_ptr<Dataset> dataset;
  std::vector<std::unique_ptr<Transform>> transforms;
  // What messages and Set() call the transforms; empty: by position only.
  std::vector<std::string> transform_names;
  std::unique_ptr<Collate> collate;  // null: StackCollate()
  std::unique_ptr<Sampler> sampler;  // null: by LoaderOptions::shuffle
};

struct LoaderOptions {
  int64_t batch_size = 1;  // of this rank
  bool shuffle = false;
  bool drop_last = false;
  // Threads that prepare samples; 0 prepares each batch in the caller.
  int num_workers = 0;
  // Batches prepared ahead, at most.
  int prefetch = 4;
  uint64_t seed = 0;
  // This rank's share: every world_size-th sample from `rank` on. Training
  // repeats the epoch's first samples to make all shares equal. Evaluation
  // leaves them out: a batch that would be nothing else has one, which is not
  // valid (Batch::valid), so that all ranks have as many batches.
  int rank = 0;
  int world_size = 1;
  bool evaluation = false;
  // A sample that fails: an error that ends the epoch, or left out and reported
  // by Epoch::SkippedSamples(); then the batch's good samples move up, and the
  // first of them, shown again, fill it up and are not valid (Batch::valid). A
  // batch with no good sample is an error all the same.
  enum class OnBadSample { kError, kSkip } on_bad_sample = OnBadSample::kError;
};

// One pass over a loader.
class Epoch {
 public:
  virtual ~Epoch();
  // The next batch, or nullopt at the end. An error names the sample (its file,
  // if the data set says so); after it the epoch is over. CANCELLED is no such
  // error: see Loader::set_stop.
  virtual absl::StatusOr<std::optional<Batch>> Next() = 0;
  // Whether Next() would not wait now, and so could not be cancelled.
  virtual bool Ready() const = 0;
  // Seconds this thread waited in Next() since Begin().
  virtual double seconds_waited() const = 0;
  // Messages of samples left out since the last call.
  virtual std::vector<std::string> SkippedSamples() = 0;
};

class Loader {
 public:
  Loader(LoaderParts parts, const LoaderOptions& options);
  ~Loader();

  // Starts epoch `epoch` (from 0) at batch `first_batch` (for resume): the
  // batches from there on are those of the uninterrupted epoch. The Epoch must
  // not outlive the loader, and only one may be alive. Options that make no
  // sense (batch_size below 1, a rank beyond world_size) are its first error.
  std::unique_ptr<Epoch> Begin(int64_t epoch, int64_t first_batch = 0);

  // Once `*stop` is not zero, a Next() that would have to wait for its batch
  // returns CANCELLED soon, and may be called again. (With num_workers 0 the
  // caller makes the batch itself: then nothing waits.) Null: it waits. For
  // epochs that begin afterwards; `stop` must outlive them.
  void set_stop(const std::atomic<int>* stop) { stop_ = stop; }

  // Batches in an epoch, for this rank.
  int64_t size() const;
  const Dataset& dataset() const;
  const LoaderOptions& options() const;
  // Deals the samples out as to `rank` of `world_size` from the next epoch on:
  // for who learns only then that there are other ranks. Between epochs only:
  // FAILED_PRECONDITION while one is alive. INVALID_ARGUMENT for a rank that
  // does not exist.
  absl::Status Reshard(int rank, int world_size);
  // For hooks: "transform.<position or name>", "collate", "sampler". Between
  // epochs only: FAILED_PRECONDITION while one is alive. NOT_FOUND lists the
  // loader's parts.
  absl::Status Set(std::string_view part, std::string_view parameter,
                   const recipe::Node& value);

 private:
  Transform* FindTransform(std::string_view name) const;
  std::vector<std::string> PartNames() const;
  // An error, told of `what`, while an epoch is alive.
  absl::Status BetweenEpochs(std::string_view what) const;

  LoaderParts parts_;
  LoaderOptions options_;
  const std::atomic<int>* stop_ = nullptr;
  int epochs_alive_ = 0;
};

}  // namespace slipway::data

#endif  // SLIPWAY_TRAINER_DATA_LOADER_H_
