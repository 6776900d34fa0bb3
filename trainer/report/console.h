// What a person sees of a training.
//
//   epoch 3/12  [==========>          ]  24/45  loss 0.1234  lr 0.05  9.1k/s
//
//   epoch 3/12  step 135
//     train    1.9 s  CrossEntropyLoss 0.1034 (-0.0210)  Accuracy 0.9610 (...)
//     time   data 41 %, compute 57 %, hooks 2 %: the data pipeline is too slow;
//            raise num_workers from 2 to 4
//     valid    0.2 s  CrossEntropyLoss 0.0934 (-0.0120)  Accuracy 0.9810 (...)
//     *
//
// Differences are to the previous epoch; `*` marks a new best of the watched
// metric, otherwise the best and its epoch are named. The time is one line.
#ifndef SLIPWAY_TRAINER_REPORT_CONSOLE_H_
#define SLIPWAY_TRAINER_REPORT_CONSOLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "trainer/report/progress.h"
#include "trainer/report/reporter.h"

namespace slipway {

// "412 MB", "1.5 GB".
std::string ShortBytes(double bytes);
// "0:07", "12:30", "3:02:05".
std::string Duration(double seconds);

class ConsoleReporter : public Reporter {
 public:
  // `out` must outlive the reporter. Without progress (kNone) it tells epochs
  // only.
  ConsoleReporter(std::ostream& out, ConsoleOptions options);

  absl::Status OnBegin(const BeginReport& begin) override;
  absl::Status OnStep(const StepReport& step) override;
  absl::Status OnEvaluationProgress(
      const EvaluationProgress& progress) override;
  absl::Status OnEpoch(const EpochReport& epoch) override;
  absl::Status OnEvent(const EventReport& event) override;
  absl::Status OnProblem(const Problem& problem) override;
  absl::Status OnEnd(const EndReport& end) override;

 private:
  struct Best {
    double value;
    int64_t epoch;
  };

  std::string EpochTitle(int64_t epoch) const;
  std::string FormatMetric(const EpochReport& epoch, const std::string& name,
                           double value);
  absl::Status Good();

  std::ostream& out_;
  ProgressLine progress_;
  BeginReport begin_;
  std::optional<int64_t> titled_epoch_;
  std::map<std::string, double> previous_;  // "valid Accuracy" -> value
  std::optional<Best> best_;
  double last_loss_ = 0;
  NamedValues last_rates_;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_REPORT_CONSOLE_H_
