// metrics.jsonl: one JSON object a line, for programs that watch a training.
//
//   {"kind":"header","schema":1}
//   {"kind":"step","time":1764.2,"epoch":0,"step":10,"loss":0.7,...}
//   {"kind":"epoch","split":"valid","epoch":0,"step":45,"metrics":{...},...}
//   {"kind":"event","name":"checkpoint","epoch":0,"step":45,"detail":{...}}
//
// Each line is written whole and at once, so that a reader never sees half of
// one. Times are seconds since 1970. A non-finite number is "nan", "inf" or
// "-inf".
#ifndef SLIPWAY_TRAINER_REPORT_JSON_LINES_H_
#define SLIPWAY_TRAINER_REPORT_JSON_LINES_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "trainer/report/reporter.h"

namespace slipway {

// A number as JSON has it: non-finite ones as texts.
nlohmann::ordered_json JsonNumber(double value);
// Names and numbers as an object, in order.
nlohmann::ordered_json JsonObject(const NamedValues& values);

class JsonLinesReporter : public Reporter {
 public:
  // Seconds since 1970; tests pass their own.
  using Clock = std::function<double()>;

  // Appends to the file at `path`; writes the header if it is new or empty.
  // A half line that a killed run left at the end is cut off first.
  static absl::StatusOr<std::unique_ptr<JsonLinesReporter>> Open(
      const std::string& path, Clock clock = nullptr);
  ~JsonLinesReporter() override;

  absl::Status OnStep(const StepReport& step) override;
  absl::Status OnEpoch(const EpochReport& epoch) override;
  absl::Status OnEvent(const EventReport& event) override;

 private:
  JsonLinesReporter(std::string path, int fd, Clock clock);
  absl::Status Write(const nlohmann::ordered_json& object);

  std::string path_;
  int fd_;
  Clock clock_;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_REPORT_JSON_LINES_H_
