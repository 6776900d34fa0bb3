// The folder that holds all files of one run.
//
//   RunFolderRequest request{.ckpt_root_dir = "checkpoints",
//                            .experiment_name = "digits"};
//   const std::string path = RunFolderPath(request, absl::Now());
//   absl::StatusOr<RunFolderLock> lock = CreateRunFolder(path, request, files);
//
// checkpoints/digits/RUN_20260102_150405_000123/ has recipe.yaml, plan.txt and
// plan.json from the start, what reporters and checkpoints add, and result.json
// at the end; checkpoints/digits/latest is a link to the newest.
#ifndef SLIPWAY_TRAINER_RUN_FOLDER_H_
#define SLIPWAY_TRAINER_RUN_FOLDER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "trainer/report/reporter.h"

namespace slipway {

struct RunFolderRequest {
  // The exact folder, as --run_dir gives it; empty: a new one beneath
  // ckpt_root_dir/experiment_name.
  std::string run_dir;
  std::string ckpt_root_dir;
  std::string experiment_name;
};

// Where the run's files will lie: an absolute path. Creates nothing.
std::string RunFolderPath(const RunFolderRequest& request, absl::Time now);

// Where the runs of an experiment lie: ckpt_root_dir/experiment_name.
std::string ExperimentFolder(const RunFolderRequest& request);
// Whether `folder` has the checkpoint `name`, or the one before it.
bool HoldsCheckpoint(const std::string& folder, const std::string& name);
// Names of its runs (RUN_...) that have it, the newest last.
std::vector<std::string> RunsWith(const RunFolderRequest& request,
                                  const std::string& name);

// Keeps other runs from writing into a folder for as long as it lives, or the
// process does. Movable.
class RunFolderLock {
 public:
  // FAILED_PRECONDITION if another run writes there. A file system that knows
  // no locks is taken as it is.
  static absl::StatusOr<RunFolderLock> Take(const std::string& path);
  RunFolderLock(RunFolderLock&& other) noexcept;
  RunFolderLock& operator=(RunFolderLock&& other) noexcept;
  ~RunFolderLock();

 private:
  explicit RunFolderLock(int fd) : fd_(fd) {}
  int fd_;
};

// Creates the folder at `path`, locks it, writes `files` (name, content) into
// it, and points `latest` at it unless run_dir was given. A folder that holds a
// run already is ALREADY_EXISTS, unless this one `continues` it: then what it
// said about its end (result.json) goes, and so do temporary files that a kill
// left. Other errors name the path and the
// system's reason.
absl::StatusOr<RunFolderLock> CreateRunFolder(
    const std::string& path, const RunFolderRequest& request,
    const std::vector<std::pair<std::string, std::string>>& files,
    bool continues = false);

// Writes result.json as the run ends, and keeps the folder until then.
class ResultReporter : public Reporter {
 public:
  ResultReporter(std::string path, RunFolderLock lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  absl::Status OnEnd(const EndReport& end) override;

 private:
  std::string path_;
  RunFolderLock lock_;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_RUN_FOLDER_H_
