// Makes the batches of an epoch ahead, on oneTBB threads, in order.
//
//   Pipeline pipeline(maker, first_batch, {.workers = 4, .ahead = 4});
//   BatchMaker::Result made = pipeline.Next();
//
// Batches are tasks, and within them samples are: one large batch keeps all
// threads busy, and so do many small ones. No thread ever waits for another but
// the caller of Next(), so any number of threads will do. Inside the threads
// ATen runs on one thread: they are the parallelism already.
#ifndef SLIPWAY_TRAINER_DATA_PIPELINE_H_
#define SLIPWAY_TRAINER_DATA_PIPELINE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

#include "trainer/data/batch_maker.h"

namespace slipway::data {

struct PipelineShape {
  int workers = 1;  // threads; at least 1
  int ahead = 1;    // batches begun and not yet taken, at most; at least 1
};

// Used from one thread. Refers to `maker`, which must outlive it.
class Pipeline {
 public:
  Pipeline(const BatchMaker& maker, int64_t first_batch,
           const PipelineShape& shape);
  // Stops: waits for samples that are being made, and begins no others.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Until the next batch is made: true; or until `*stop`, which may be null, is
  // not zero: false.
  bool WaitForNext(const std::atomic<int>* stop);

  // Whether the next batch is made; not after the last.
  bool Ready() const;

  // The next batch, once it is made; at most maker.size() - first_batch times.
  BatchMaker::Result Next();

 private:
  class Arena;
  struct Shared;
  struct Slot;
  void Begin();

  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Arena> arena_;
  // One slot, and one task, for each batch begun and not yet taken.
  std::deque<std::shared_ptr<Slot>> slots_;
  int64_t next_;
};

}  // namespace slipway::data

#endif  // SLIPWAY_TRAINER_DATA_PIPELINE_H_
