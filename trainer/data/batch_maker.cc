#include "trainer/data/batch_maker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trainer/data/rng.h"
#include "trainer/plugin/exception.h"
#include "trainer/plugin/with_prefix.h"

namespace slipway::data {
namespace {

std::string TransformName(const LoaderParts& parts, size_t position) {
  return position < parts.transform_names.size()
             ? parts.transform_names[position]
             : absl::StrCat(position);
}

}  // namespace

BatchMaker::BatchMaker(const LoaderParts& parts, const LoaderOptions& options,
                       int64_t epoch)
    : parts_(parts),
      options_(options),
      epoch_(epoch),
      order_(parts.sampler->Order(epoch)),
      shard_({.samples = static_cast<int64_t>(order_.size()),
              .batch_size = options.batch_size,
              .rank = options.rank,
              .world_size = options.world_size,
              .drop_last = options.drop_last}) {}

std::vector<int64_t> BatchMaker::Places(int64_t number) const {
  std::vector<int64_t> places = shard_.Places(number);
  if (options_.evaluation) {
    places.resize(std::max<int64_t>(shard_.valid(number), 1));
  }
  return places;
}

Batch BatchMaker::Ask(int64_t number,
                      const std::vector<int64_t>& places) const {
  Batch batch;
  batch.indices.reserve(places.size());
  for (int64_t place : places) {
    batch.indices.push_back(order_[place % order_.size()]);
  }
  batch.valid = options_.evaluation ? shard_.valid(number) : batch.size();
  return batch;
}

BatchMaker::Result BatchMaker::Make(int64_t number, ForEach for_each) const {
  const std::vector<int64_t> places = Places(number);
  Batch batch = Ask(number, places);
  std::vector<absl::StatusOr<Sample>> made(places.size());
  ImageRows rows(batch.size());
  for_each(batch.size(), [&](int64_t i) {
    made[i] = MakeSample(batch.indices[i], places[i], i, rows);
  });

  Result result;
  absl::StatusOr<std::vector<Sample>> samples =
      KeepGood(std::move(made), batch, result.skipped);
  absl::Status status =
      samples.ok() ? Join(*samples, number, batch) : samples.status();
  if (status.ok()) {
    result.batch = std::move(batch);
  } else {
    result.batch = std::move(status);
  }
  return result;
}

absl::StatusOr<Sample> BatchMaker::MakeSample(int64_t index, int64_t place,
                                              int64_t row,
                                              ImageRows& rows) const {
  if (index < 0 || index >= parts_.dataset->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the sampler asks for sample ", index,
                     ", but the data set has ", parts_.dataset->size()));
  }
  Sample sample;
  absl::Status status = Guarded([&]() -> absl::Status {
    absl::StatusOr<Sample> raw = parts_.dataset->Get(index);
    if (!raw.ok()) return raw.status();
    sample = *std::move(raw);
    return absl::OkStatus();
  });
  if (status.ok()) status = Transform(sample, place);
  if (status.ok()) {
    status = Guarded([&] { sample.image = rows.Place(row, sample.image); });
  }
  if (!status.ok()) return WithPrefix(absl::StrCat("sample ", index), status);
  return sample;
}

absl::Status BatchMaker::Transform(Sample& sample, int64_t place) const {
  Rng rng(options_.seed, epoch_, place);
  for (size_t t = 0; t < parts_.transforms.size(); ++t) {
    absl::Status status = Guarded([&] {
      return parts_.transforms[t]->Apply(sample, *parts_.dataset, rng);
    });
    if (status.ok()) continue;
    return WithPrefix(absl::StrCat("transform ", TransformName(parts_, t)),
                      status);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Sample>> BatchMaker::KeepGood(
    std::vector<absl::StatusOr<Sample>> made, Batch& batch,
    std::vector<std::string>& skipped) const {
  const std::vector<int64_t> asked = std::exchange(batch.indices, {});
  const int64_t asked_valid = std::exchange(batch.valid, 0);
  const bool skip = options_.on_bad_sample == LoaderOptions::OnBadSample::kSkip;
  std::vector<Sample> good;
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i].ok()) {
      good.push_back(*std::move(made[i]));
      batch.indices.push_back(asked[i]);
      if (static_cast<int64_t>(i) < asked_valid) ++batch.valid;
    } else if (skip) {
      skipped.emplace_back(made[i].status().message());
    } else {
      return made[i].status();
    }
  }
  if (good.empty()) return made.front().status();
  for (size_t i = 0; good.size() < made.size(); ++i) {
    good.push_back(good[i]);
    batch.indices.push_back(batch.indices[i]);
  }
  return good;
}

absl::Status BatchMaker::Join(std::vector<Sample>& samples, int64_t number,
                              Batch& batch) const {
  Rng rng(options_.seed, epoch_, number * options_.world_size + options_.rank,
          Rng::Stream::kBatch);
  return WithPrefix(absl::StrCat("batch ", number), Guarded([&] {
                      return parts_.collate->Join(samples, batch, rng);
                    }));
}

}  // namespace slipway::data
