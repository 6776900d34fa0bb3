#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "ATen/ops/arange.h"
#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/scalar_tensor.h"
#include "ATen/ops/stack.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"
#include "trainer/data/dataset.h"
#include "trainer/data/image_rows.h"
#include "trainer/nn/value.h"

namespace slipway::data {
namespace {

at::Tensor Image(double value) {
  return at::full({3, 2, 2}, value, at::kFloat);
}

at::Tensor Class(int64_t number) {
  return at::scalar_tensor(number, at::TensorOptions(at::kLong));
}

std::vector<Sample> ThreeSamples() {
  std::vector<Sample> samples(3);
  for (int64_t i = 0; i < 3; ++i) {
    samples[i].image = Image(i);
    samples[i].target = Value(Class(i + 5));
  }
  return samples;
}

absl::StatusOr<Batch> Join(std::vector<Sample> samples) {
  Batch batch;
  for (size_t i = 0; i < samples.size(); ++i) batch.indices.push_back(10 + i);
  Rng rng(0, 0, 0);
  const absl::Status status = StackCollate()->Join(samples, batch, rng);
  if (!status.ok()) return status;
  return batch;
}

TEST(StackCollate, StacksImagesAndClasses) {
  const absl::StatusOr<Batch> batch = Join(ThreeSamples());
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->input.ShapeString(), "float[3, 3, 2, 2]");
  EXPECT_TRUE(at::equal(batch->input.tensor()[1], Image(1)));
  EXPECT_TRUE(at::equal(batch->target.tensor(), at::arange(5, 8)));
  EXPECT_TRUE(batch->extra.empty());
}

TEST(StackCollate, StacksMapsAndListsEntryByEntry) {
  std::vector<Sample> samples = ThreeSamples();
  for (Sample& sample : samples) {
    sample.target = Value(Value::Map{
        {"mask", Value(at::ones({2, 2}, at::kLong))},
        {"sizes", Value(Value::List{Value(Class(2)), Value(Class(3))})}});
    sample.extra = Value(Class(7));
  }
  const absl::StatusOr<Batch> batch = Join(samples);
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->target.ShapeString(),
            "{mask: long[3, 2, 2], sizes: [long[3], long[3]]}");
  EXPECT_EQ(batch->extra.ShapeString(), "long[3]");
}

TEST(StackCollate, NamesTheFirstSampleThatDiffers) {
  struct Case {
    void (*change)(Sample&);
    const char* message;
  };
  const Case cases[] = {
      {[](Sample& s) {
         s.image = at::zeros({3, 2, 1});
       },
       "sample 11: its image is float[3, 2, 1], but that of sample 10 is "
       "float[3, 2, 2]; crop, pad or resize them to one size"},
      {[](Sample& s) {
         s.image = at::zeros({3, 2, 2}, at::kByte);
       },
       "sample 11: its image is byte[3, 2, 2], but that of sample 10 is "
       "float[3, 2, 2]; crop, pad or resize them to one size"},
      {[](Sample& s) { s.target = Value(at::zeros({2}, at::kLong)); },
       "sample 11: its target is long[2], but that of sample 10 is long[]; "
       "name a collate_fn that joins what differs in shape"},
      {[](Sample& s) { s.extra = Value(at::zeros({2})); },
       "sample 11: its extra value is float[2], but that of sample 10 is "
       "nothing; name a collate_fn that joins what differs in shape"},
  };
  for (const Case& c : cases) {
    std::vector<Sample> samples = ThreeSamples();
    c.change(samples[1]);
    const absl::StatusOr<Batch> batch = Join(samples);
    EXPECT_EQ(batch.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(batch.status().message(), c.message);
  }
}

TEST(ImageRows, CopiesImagesIntoOneTensor) {
  std::vector<Sample> samples = ThreeSamples();
  ImageRows rows(3);
  // Backwards, as threads may.
  for (int64_t i = 2; i >= 0; --i) {
    const at::Tensor row = rows.Place(i, samples[i].image);
    EXPECT_TRUE(at::equal(row, samples[i].image));
    EXPECT_FALSE(row.is_alias_of(samples[i].image));
    samples[i].image = row;
  }
  const absl::StatusOr<at::Tensor> images = StackImages(samples, {0, 1, 2});
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_TRUE(at::equal(*images, at::stack({Image(0), Image(1), Image(2)})));
  EXPECT_TRUE(images->is_contiguous());
  EXPECT_TRUE(images->is_alias_of(samples[0].image)) << "it was copied again";
}

TEST(ImageRows, LeavesAnImageOfAnotherShapeOrTypeAlone) {
  ImageRows rows(3);
  rows.Place(0, Image(1));
  const at::Tensor wide = at::zeros({3, 2, 9});
  const at::Tensor bytes = at::zeros({3, 2, 2}, at::kByte);
  EXPECT_TRUE(rows.Place(1, wide).is_same(wide));
  EXPECT_TRUE(rows.Place(2, bytes).is_same(bytes));
  EXPECT_FALSE(rows.Place(2, at::Tensor()).defined());
}

TEST(ImageRows, ServesSeveralThreads) {
  constexpr int64_t kCount = 64;
  std::vector<Sample> samples(kCount);
  ImageRows rows(kCount);
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = t; i < kCount; i += 4) {
        samples[i].image = rows.Place(i, Image(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const absl::StatusOr<at::Tensor> images =
      StackImages(samples, std::vector<int64_t>(kCount));
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_TRUE(images->is_alias_of(samples[0].image));
  for (int64_t i = 0; i < kCount; ++i) {
    EXPECT_TRUE(at::equal((*images)[i], Image(i)));
  }
}

TEST(StackImages, CopiesRowsThatAreNotInOrder) {
  std::vector<Sample> samples = ThreeSamples();
  ImageRows rows(3);
  for (int64_t i = 0; i < 3; ++i) {
    samples[i].image = rows.Place(i, samples[i].image);
  }
  // As when the second sample is left out and the first fills the batch up.
  const std::vector<Sample> kept = {samples[0], samples[2], samples[0]};
  const absl::StatusOr<at::Tensor> images = StackImages(kept, {0, 2, 0});
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_TRUE(at::equal(*images, at::stack({Image(0), Image(2), Image(0)})));
  EXPECT_FALSE(images->is_alias_of(samples[0].image));
}

TEST(StackImages, TakesTheFirstRowsOfALargerTensor) {
  std::vector<Sample> samples = ThreeSamples();
  ImageRows rows(8);
  for (int64_t i = 0; i < 3; ++i) {
    samples[i].image = rows.Place(i, samples[i].image);
  }
  const absl::StatusOr<at::Tensor> images = StackImages(samples, {0, 1, 2});
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_EQ(images->size(0), 3);
  EXPECT_TRUE(at::equal((*images)[2], Image(2)));
}

}  // namespace
}  // namespace slipway::data
