// Writes tensor files in a thread of its own, while training goes on.
//
//   BackgroundWriter writer;
//   SaveJob job;
//   job.tree = CheckpointTree(checkpoint, job.tensors);
//   job.files = {{.path = latest, .replaced = Replaced::kPrevious}};
//   absl::Status status = writer.Start({std::move(job)});  // copies, returns
//   ...
//   for (const std::string& path : writer.TakeFinished()) Announce(path);
//   ...
//   status = writer.Wait();                       // all is whole, or why not
//
// Each file appears whole or not at all (atomic_file.h). One Start is in flight
// at a time: the next one waits for it. The copy stays between jobs, so that a
// state of the same tensors finds its memory ready.
#ifndef SLIPWAY_TRAINER_CHECKPOINT_BACKGROUND_WRITER_H_
#define SLIPWAY_TRAINER_CHECKPOINT_BACKGROUND_WRITER_H_

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ATen/core/Tensor.h"
#include "absl/status/status.h"
#include "trainer/checkpoint/atomic_file.h"
#include "trainer/checkpoint/pickle.h"
#include "trainer/checkpoint/tensor_file.h"

namespace slipway {

struct SaveFile {
  std::string path;
  Replaced replaced = Replaced::kGone;
};

// One content and the files that get it, in order.
struct SaveJob {
  PickleValue tree;
  TensorFileWriter tensors;
  std::vector<SaveFile> files;
  // Nobody will change the tensors: they are written without a copy.
  bool frozen = false;
};

// Used from one thread.
class BackgroundWriter {
 public:
  BackgroundWriter() = default;
  // Waits for what is in flight.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  // Waits for what is in flight, copies the jobs' tensors (the caller may then
  // change its own) and writes them in a thread. The failure of an earlier job
  // is returned, and nothing started, from then on. May throw c10::Error where
  // the copy finds no memory.
  absl::Status Start(std::vector<SaveJob> jobs);

  // The files that became whole since the last call, in order.
  std::vector<std::string> TakeFinished();
  // OK, or the first failure so far: the same as Wait() without waiting.
  absl::Status status() const;

  // Returns when nothing is in flight.
  absl::Status Wait();

 private:
  void Run();
  absl::Status Write(std::vector<SaveJob>& jobs);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;         // begins with the first job
  std::vector<SaveJob> jobs_;  // in flight; empty: idle
  std::vector<std::string> finished_;
  std::vector<at::Tensor> buffers_;  // the last jobs' copies
  absl::Status status_;
  bool ending_ = false;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_CHECKPOINT_BACKGROUND_WRITER_H_
