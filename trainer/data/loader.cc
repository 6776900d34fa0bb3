#include "trainer/data/loader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trainer/data/batch_maker.h"
#include "trainer/data/pipeline.h"
#include "trainer/data/shard.h"

namespace slipway::data {
namespace {

constexpr std::string_view kTransformPrefix = "transform.";

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start_ = Clock::now();
};

void InOrder(int64_t count, absl::FunctionRef<void(int64_t)> make) {
  for (int64_t i = 0; i < count; ++i) make(i);
}

absl::Status Check(const LoaderOptions& options) {
  if (options.batch_size < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "batch_size is ", options.batch_size, ", expected at least 1"));
  }
  if (options.rank < 0 || options.rank >= options.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", options.rank, " of world size ",
                     options.world_size, " does not exist"));
  }
  return absl::OkStatus();
}

// An epoch that has nothing but an error.
class FailedEpoch : public Epoch {
 public:
  explicit FailedEpoch(absl::Status status) : status_(std::move(status)) {}

  absl::StatusOr<std::optional<Batch>> Next() override {
    if (status_.ok()) return std::nullopt;
    return std::exchange(status_, absl::OkStatus());
  }
  bool Ready() const override { return true; }
  double seconds_waited() const override { return 0; }
  std::vector<std::string> SkippedSamples() override { return {}; }

 private:
  absl::Status status_;
};

class LoaderEpoch : public Epoch {
 public:
  LoaderEpoch(const LoaderParts& parts, const LoaderOptions& options,
              int64_t epoch, int64_t first_batch, const std::atomic<int>* stop,
              int& alive)
      : alive_(alive),
        maker_(parts, options, epoch),
        next_(first_batch),
        stop_(stop) {
    ++alive_;
    if (options.num_workers == 0 || next_ >= maker_.size()) return;
    const PipelineShape shape = {.workers = options.num_workers,
                                 .ahead = std::max(options.prefetch, 1)};
    pipeline_ = std::make_unique<Pipeline>(maker_, next_, shape);
  }

  ~LoaderEpoch() override { --alive_; }

  absl::StatusOr<std::optional<Batch>> Next() override {
    if (next_ >= maker_.size()) return std::nullopt;
    const Stopwatch stopwatch;
    if (pipeline_ != nullptr && !pipeline_->WaitForNext(stop_)) {
      seconds_waited_ += stopwatch.seconds();
      return absl::CancelledError("stopped while waiting for data");
    }
    BatchMaker::Result made =
        pipeline_ ? pipeline_->Next() : maker_.Make(next_, InOrder);
    seconds_waited_ += stopwatch.seconds();
    ++next_;
    std::move(made.skipped.begin(), made.skipped.end(),
              std::back_inserter(skipped_));
    if (made.batch.ok()) return std::optional<Batch>(*std::move(made.batch));
    Stop();
    return made.batch.status();
  }

  bool Ready() const override {
    return pipeline_ == nullptr || next_ >= maker_.size() || pipeline_->Ready();
  }

  double seconds_waited() const override { return seconds_waited_; }

  std::vector<std::string> SkippedSamples() override {
    return std::exchange(skipped_, {});
  }

 private:
  void Stop() {
    next_ = maker_.size();
    pipeline_.reset();
  }

  int& alive_;
  const BatchMaker maker_;
  int64_t next_;
  const std::atomic<int>* const stop_;
  std::unique_ptr<Pipeline> pipeline_;
  double seconds_waited_ = 0;
  std::vector<std::string> skipped_;
};

}  // namespace

Epoch::~Epoch() = default;

Loader::Loader(LoaderParts parts, const LoaderOptions& options)
    : parts_(std::move(parts)), options_(options) {
  const int64_t size = parts_.dataset->size();
  if (!parts_.collate) parts_.collate = StackCollate();
  if (!parts_.sampler) {
    parts_.sampler = options_.shuffle ? ShuffleSampler(size, options_.seed)
                                      : SequentialSampler(size);
  }
}

Loader::~Loader() = default;

std::unique_ptr<Epoch> Loader::Begin(int64_t epoch, int64_t first_batch) {
  if (absl::Status status = Check(options_); !status.ok()) {
    return std::make_unique<FailedEpoch>(std::move(status));
  }
  return std::make_unique<LoaderEpoch>(parts_, options_, epoch, first_batch,
                                       stop_, epochs_alive_);
}

int64_t Loader::size() const {
  if (!Check(options_).ok()) return 0;
  return Shard({.samples = parts_.sampler->size(),
                .batch_size = options_.batch_size,
                .rank = options_.rank,
                .world_size = options_.world_size,
                .drop_last = options_.drop_last})
      .batches();
}

const Dataset& Loader::dataset() const { return *parts_.dataset; }

const LoaderOptions& Loader::options() const { return options_; }

absl::Status Loader::BetweenEpochs(std::string_view what) const {
  if (epochs_alive_ == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(what),
                   " of a loader change between epochs only, and one is on"));
}

absl::Status Loader::Reshard(int rank, int world_size) {
  LoaderOptions options = options_;
  options.rank = rank;
  options.world_size = world_size;
  absl::Status status = BetweenEpochs("the ranks");
  status.Update(Check(options));
  if (status.ok()) options_ = options;
  return status;
}

Transform* Loader::FindTransform(std::string_view name) const {
  for (size_t t = 0; t < parts_.transforms.size(); ++t) {
    const bool named =
        t < parts_.transform_names.size() && parts_.transform_names[t] == name;
    if (named || std::to_string(t) == name) return parts_.transforms[t].get();
  }
  return nullptr;
}

std::vector<std::string> Loader::PartNames() const {
  std::vector<std::string> names = {"collate", "sampler"};
  for (size_t t = 0; t < parts_.transforms.size(); ++t) {
    names.push_back(absl::StrCat("transform.", t));
  }
  for (const std::string& name : parts_.transform_names) {
    names.push_back(absl::StrCat("transform.", name));
  }
  return names;
}

absl::Status Loader::Set(std::string_view part, std::string_view parameter,
                         const recipe::Node& value) {
  if (absl::Status status = BetweenEpochs("parameters"); !status.ok()) {
    return status;
  }
  if (part == "collate") return parts_.collate->Set(parameter, value);
  if (part == "sampler") return parts_.sampler->Set(parameter, value);
  if (part.starts_with(kTransformPrefix)) {
    Transform* transform = FindTransform(part.substr(kTransformPrefix.size()));
    if (transform != nullptr) return transform->Set(parameter, value);
  }
  return absl::NotFoundError(absl::StrCat("the loader has no part \"",
                                          std::string(part), "\", but ",
                                          absl::StrJoin(PartNames(), ", ")));
}

}  // namespace slipway::data
