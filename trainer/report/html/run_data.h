// What a run's folder tells, read as far as it goes.
//
//   absl::StatusOr<RunData> run = ReadRun("checkpoints/digits/RUN_...");
//   for (const std::string& note : run->notes) ...
//
// A folder of a run that still goes on, or was killed, is as good as any: a
// half line at the end of metrics.jsonl is left out, result.json may be absent,
// files may be missing or damaged. What could not be read is said in `notes`.
// Where a training did steps or epochs again (a resume, a rollback), what it
// did last counts. Values and functions of files.
#ifndef SLIPWAY_TRAINER_REPORT_HTML_RUN_DATA_H_
#define SLIPWAY_TRAINER_REPORT_HTML_RUN_DATA_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace slipway::html {

using Json = nlohmann::ordered_json;

struct RunData {
  std::string path;
  // "digits/RUN_20260102_150405_000123": experiment and run, or the folder.
  std::string name;
  // The lines of metrics.jsonl, by kind, in order.
  std::vector<Json> steps;
  std::vector<Json> epochs;
  std::vector<Json> events;
  Json result;  // null without a result.json
  Json plan;    // null without a plan.json
  // The recipe as {"a.b.c", value as text}; lists are one value.
  std::map<std::string, std::string> recipe;
  std::vector<std::string> notes;
};

// NOT_FOUND if `folder` is none, or has none of a run's files.
absl::StatusOr<RunData> ReadRun(const std::string& folder);

// The runs that `path` means: itself, or the RUN_... folders in an
// experiment's, by name. Empty if it has neither.
std::vector<std::string> FindRuns(const std::string& path);

// Gives runs of the same name a number each.
void MakeNamesUnique(std::vector<RunData>& runs);

// At most about `most` of `steps`: of each stretch those with the lowest and
// the highest loss, so that no spike is lost, and the last.
std::vector<Json> ThinOut(const std::vector<Json>& steps, size_t most);

}  // namespace slipway::html

#endif  // SLIPWAY_TRAINER_REPORT_HTML_RUN_DATA_H_
