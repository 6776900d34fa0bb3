// The event file of a run, which TensorBoard reads as it grows.
//
//   auto log = EventLog::Open(run_dir, keep, now);
//   (*log)->Write(EncodeScalars(now, 12, {{"valid_accuracy", 0.75}}));
//
// A folder has one: events.out.tfevents.<time>.<host>.<process>.<count>. Where
// it has some already, a training goes on: what they hold and `keep` agrees to
// moves to the new file, and they become empty. (A TensorBoard that watches the
// folder would not get past a file that vanished while it was the newest; empty
// ones are removed the next time.) The new file begins with a session start at
// step 0, at which that TensorBoard forgets what it had read, so that every
// reader sees every step once. At any moment the folder holds either the old
// files or all of the new one; both, if the process dies between, which readers
// understand for the same reason.
//
// Each event is written at once and whole; a run that is killed leaves at most
// a cut last record, which readers skip. Not thread-safe.
#ifndef SLIPWAY_TRAINER_REPORT_EVENT_LOG_H_
#define SLIPWAY_TRAINER_REPORT_EVENT_LOG_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer/report/event_record.h"

namespace slipway {

class EventLog {
 public:
  // Whether an event of the past, which has a tag, still holds.
  using Keep = std::function<bool(const EventHead&)>;

  // `now` is in seconds since 1970. Errors name the file and the system's
  // reason; the old files are untouched then.
  static absl::StatusOr<std::unique_ptr<EventLog>> Open(
      const std::string& folder, const Keep& keep, double now);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Appends an event (event_record.h makes them).
  absl::Status Write(std::string_view event);

  const std::string& path() const { return path_; }

 private:
  EventLog(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_REPORT_EVENT_LOG_H_
