// Reads event files as a program that knows only their documented format would:
// nothing here is shared with the writer.
//
//   for (const ScalarPoint& point : ReadScalars(folder)["valid_accuracy"]) ...
#ifndef SLIPWAY_TRAINER_REPORT_TESTING_READ_EVENTS_H_
#define SLIPWAY_TRAINER_REPORT_TESTING_READ_EVENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace slipway {

struct ScalarPoint {
  int64_t step = 0;
  float value = 0;
  friend bool operator==(const ScalarPoint&, const ScalarPoint&) = default;
};
void PrintTo(const ScalarPoint& point, std::ostream* out);

// The points of each tag of all event files in `folder`, in the order of the
// files' names and of the records. A session start drops, as TensorBoard's
// reader does, all that has its step or a later one. Reading a file ends where
// a record is cut; one that is damaged otherwise fails the test.
std::map<std::string, std::vector<ScalarPoint>> ReadScalars(
    const std::string& folder);

// Their paths.
std::vector<std::string> EventFilesIn(const std::string& folder);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_REPORT_TESTING_READ_EVENTS_H_
