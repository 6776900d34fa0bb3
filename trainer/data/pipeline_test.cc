// What the loader's threads may and may not do.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "ATen/Parallel.h"
#include "gtest/gtest.h"
#include "trainer/data/dataset.h"
#include "trainer/data/loader.h"
#include "trainer/data/numbers.h"

namespace slipway::data {
namespace {

using std::chrono::milliseconds;

// Lets nobody through before `count` threads have come.
class Gate {
 public:
  explicit Gate(int count) : missing_(count) {}

  // False if the others did not come in time.
  bool Pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (--missing_ <= 0) all_here_.notify_all();
    return all_here_.wait_for(lock, std::chrono::seconds(20),
                              [&] { return missing_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int missing_;
};

int CountBatches(Epoch& epoch) {
  int count = 0;
  while (epoch.Next().value_or(std::nullopt).has_value()) ++count;
  return count;
}

TEST(Pipeline, RunsAsManyThreadsAsItIsTold) {
  // More than this machine may have cores; the samples of one batch wait for
  // one another.
  constexpr int kThreads = 7;
  Gate gate(kThreads);
  Loader loader(NumberParts(kThreads,
                            [&](int64_t) {
                              return gate.Pass() ? absl::OkStatus()
                                                 : absl::DeadlineExceededError(
                                                       "too few threads");
                            }),
                {.batch_size = kThreads, .num_workers = kThreads});
  const absl::Status status = loader.Begin(0)->Next().status();
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Pipeline, NeverRunsMoreThreadsThanItIsTold) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  Loader loader(NumberParts(400,
                            [&](int64_t) {
                              std::lock_guard<std::mutex> lock(mutex);
                              threads.insert(std::this_thread::get_id());
                              return absl::OkStatus();
                            }),
                {.batch_size = 8, .num_workers = 2});
  EXPECT_EQ(CountBatches(*loader.Begin(0)), 50);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
  EXPECT_GE(threads.size(), 1u);
  EXPECT_LE(threads.size(), 2u);
}

TEST(Pipeline, ReadsNothingBeforeItBeginsAndNoMoreAheadThanItIsTold) {
  std::atomic<int> reads = 0;
  Loader loader(NumberParts(400,
                            [&](int64_t) {
                              ++reads;
                              return absl::OkStatus();
                            }),
                {.batch_size = 4, .num_workers = 2, .prefetch = 3});
  EXPECT_EQ(reads, 0);
  const std::unique_ptr<Epoch> epoch = loader.Begin(0);
  ASSERT_TRUE(epoch->Next().ok());
  // The first batch was taken, and three more are made. Wait for them, and
  // then for any that should not be.
  while (reads < 16) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(reads, 16);
}

TEST(Pipeline, IsNotReadyWhileASampleIsAwaited) {
  std::atomic<bool> wait = true;
  Loader loader(NumberParts(8,
                            [&](int64_t) {
                              while (wait) {
                                std::this_thread::sleep_for(milliseconds(1));
                              }
                              return absl::OkStatus();
                            }),
                {.batch_size = 4, .num_workers = 1});
  const std::unique_ptr<Epoch> epoch = loader.Begin(0);
  EXPECT_FALSE(epoch->Ready());
  wait = false;
  while (!epoch->Ready()) std::this_thread::sleep_for(milliseconds(1));
}

TEST(Pipeline, StopsWhenItsEpochIsDestroyed) {
  std::atomic<int> reads = 0;
  Loader loader(NumberParts(4000,
                            [&](int64_t) {
                              ++reads;
                              std::this_thread::sleep_for(milliseconds(2));
                              return absl::OkStatus();
                            }),
                {.batch_size = 1000, .num_workers = 2});
  {
    const std::unique_ptr<Epoch> epoch = loader.Begin(0);
    while (reads == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  const int at_end = reads;
  EXPECT_LT(at_end, 1000) << "it finished a batch that nobody wants";
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(reads, at_end) << "a thread went on";
}

TEST(Pipeline, StopsAtTheFirstError) {
  std::atomic<int> reads = 0;
  Loader loader(NumberParts(400,
                            [&](int64_t index) {
                              ++reads;
                              return index == 0 ? absl::DataLossError("bad")
                                                : absl::OkStatus();
                            }),
                {.batch_size = 4, .num_workers = 2, .prefetch = 2});
  const std::unique_ptr<Epoch> epoch = loader.Begin(0);
  EXPECT_FALSE(epoch->Next().ok());
  // Two batches were begun at once, and a third when the first was taken.
  EXPECT_LE(reads, 12);
  EXPECT_EQ(CountBatches(*epoch), 0);
}

TEST(Pipeline, BeginsAnewManyTimes) {
  Loader loader(NumberParts(64), {.batch_size = 4, .num_workers = 3});
  for (int64_t epoch = 0; epoch < 200; ++epoch) {
    const std::unique_ptr<Epoch> batches = loader.Begin(epoch);
    ASSERT_TRUE(batches->Next().ok());
    if (epoch % 2 == 0) {
      EXPECT_EQ(CountBatches(*batches), 15);
    }
  }
}

TEST(Pipeline, ServesTwoLoadersAtATime) {
  Loader train(NumberParts(100), {.batch_size = 2, .num_workers = 4});
  Loader valid(NumberParts(100), {.batch_size = 5, .num_workers = 1});
  const std::unique_ptr<Epoch> paused = train.Begin(0);
  ASSERT_TRUE(paused->Next().ok());
  EXPECT_EQ(CountBatches(*valid.Begin(0)), 20);
  EXPECT_EQ(CountBatches(*paused), 49);
}

class ThreadsOfAten : public Transform {
 public:
  explicit ThreadsOfAten(std::atomic<int>& most) : most_(most) {}

  absl::Status Apply(Sample&, const Dataset&, Rng&) const override {
    if (at::get_num_threads() > most_) most_ = at::get_num_threads();
    return absl::OkStatus();
  }

 private:
  std::atomic<int>& most_;
};

TEST(Pipeline, LetsAtenUseOneThreadInEachWorkerAndAllOutside) {
  at::set_num_threads(4);
  std::atomic<int> most = 0;
  LoaderParts parts = NumberParts(100);
  parts.transforms.push_back(std::make_unique<ThreadsOfAten>(most));
  Loader loader(std::move(parts), {.batch_size = 4, .num_workers = 2});
  EXPECT_EQ(CountBatches(*loader.Begin(0)), 25);
  EXPECT_EQ(most, 1);
  EXPECT_EQ(at::get_num_threads(), 4);
}

TEST(Pipeline, CountsTheSecondsThatItsCallerWaits) {
  for (int workers : {0, 1}) {
    Loader loader(NumberParts(2,
                              [](int64_t) {
                                std::this_thread::sleep_for(milliseconds(30));
                                return absl::OkStatus();
                              }),
                  {.batch_size = 1, .num_workers = workers});
    const std::unique_ptr<Epoch> epoch = loader.Begin(0);
    EXPECT_EQ(epoch->seconds_waited(), 0);
    EXPECT_EQ(CountBatches(*epoch), 2);
    EXPECT_GE(epoch->seconds_waited(), 0.03);
  }
}

}  // namespace
}  // namespace slipway::data
