#include "trainer/checkpoint/background_writer.h"

#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace slipway {
namespace {

// Where all cores are taken the training goes first: nobody waits for a file.
void YieldToOthers() {
  constexpr int kNice = 10;
  // Of this thread alone: Linux keeps it by thread. It need not succeed.
  setpriority(PRIO_PROCESS, 0, std::max(getpriority(PRIO_PROCESS, 0), kNice));
}

}  // namespace

BackgroundWriter::~BackgroundWriter() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

absl::Status BackgroundWriter::Start(std::vector<SaveJob> jobs) {
  if (absl::Status status = Wait(); !status.ok()) return status;
  // The thread is idle: what it uses is this thread's until jobs_ is set.
  std::vector<at::Tensor> buffers = std::exchange(buffers_, {});
  for (SaveJob& job : jobs) {
    if (!job.frozen) job.tensors.Detach(buffers);
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_ = std::move(jobs);
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  changed_.notify_all();
  return absl::OkStatus();
}

std::vector<std::string> BackgroundWriter::TakeFinished() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(finished_, {});
}

absl::Status BackgroundWriter::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

absl::Status BackgroundWriter::Wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty(); });
  return status_;
}

void BackgroundWriter::Run() {
  YieldToOthers();
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    lock.unlock();
    const absl::Status written = Write(jobs_);
    lock.lock();
    status_.Update(written);
    jobs_.clear();
    changed_.notify_all();
  }
}

absl::Status BackgroundWriter::Write(std::vector<SaveJob>& jobs) try {
  for (SaveJob& job : jobs) {
    for (const SaveFile& file : job.files) {
      absl::Status status =
          job.tensors.Write(job.tree, file.path, file.replaced);
      if (!status.ok()) return status;
      const std::lock_guard<std::mutex> lock(mutex_);
      finished_.push_back(file.path);
    }
    if (job.frozen) continue;
    std::vector<at::Tensor> buffers = job.tensors.TakeBuffers();
    buffers_.insert(buffers_.end(), std::make_move_iterator(buffers.begin()),
                    std::make_move_iterator(buffers.end()));
  }
  return absl::OkStatus();
} catch (const std::exception& error) {
  return absl::InternalError(error.what());
}

}  // namespace slipway
