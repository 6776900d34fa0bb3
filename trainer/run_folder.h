// The folder that holds all files of one run.
//
//   RunFolderRequest request{.ckpt_root_dir = "checkpoints",
//                            .experiment_name = "digits"};
//   const std::string path = RunFolderPath(request, absl::Now());
//   absl::Status status = CreateRunFolder(path, request, files);
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

// Creates the folder at `path` with `files` (name, content) in it, and points
// `latest` at it unless run_dir was given. ALREADY_EXISTS if it holds a run
// already; other errors name the path and the system's reason.
absl::Status CreateRunFolder(
    const std::string& path, const RunFolderRequest& request,
    const std::vector<std::pair<std::string, std::string>>& files);

// Writes result.json as the run ends.
class ResultReporter : public Reporter {
 public:
  explicit ResultReporter(std::string path) : path_(std::move(path)) {}
  absl::Status OnEnd(const EndReport& end) override;

 private:
  std::string path_;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_RUN_FOLDER_H_
