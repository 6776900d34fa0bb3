// TensorBoard's event file, with the tags of SuperGradients' base_sg_logger.
//
//   tensorboard --logdir=checkpoints/digits
//
// Against the epoch (from 0), in lower case and with `_` for blanks:
//
//   train_inference_time     milliseconds that the epoch's training took
//   train_<loss or metric>   "train_crossentropyloss", "train_accuracy"
//   valid_..., test_...      the same for the other splits
//   lr, or lr/<group>        the rates of the epoch's first step; with the
//   group
//                            where there are several
//   <loss or metric>         the average model's, at epoch max_epochs
//
// Against the optimizer step, every `log_every` steps, which SuperGradients has
// not: step/loss, step/lr or step/lr/<group>, step/samples_per_second,
// step/data_wait; and step/valid_... of an evaluation in the middle of an
// epoch. Against a count, every 30 seconds: System/... (system_usage.h). As
// text: hyper_params, the recipe.
//
// A training that resumes, or goes back to an earlier step, takes back what was
// told of that step and later ones (event_log.h): each tag has each step once.
#ifndef SLIPWAY_TRAINER_REPORT_TENSORBOARD_H_
#define SLIPWAY_TRAINER_REPORT_TENSORBOARD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "trainer/report/event_log.h"
#include "trainer/report/reporter.h"
#include "trainer/report/system_usage.h"

namespace slipway {

struct TensorBoardOptions {
  // The folder of the event file.
  std::string folder;
  // For the text hyper_params.
  nlohmann::ordered_json recipe = nlohmann::ordered_json::object();
  // Writes System/... too.
  bool monitor_system = false;
  // Seconds since 1970; tests pass their own.
  std::function<double()> clock = nullptr;
};

class TensorBoardReporter : public Reporter {
 public:
  explicit TensorBoardReporter(TensorBoardOptions options);

  // The file is opened here, when it is known where the training starts.
  absl::Status OnBegin(const BeginReport& begin) override;
  absl::Status OnStep(const StepReport& step) override;
  absl::Status OnEpoch(const EpochReport& epoch) override;

 private:
  // What a tag is drawn against.
  enum class Axis { kEpoch, kStep, kCount, kNone };
  static Axis AxisOf(const std::string& tag);

  absl::Status Open(int64_t first_epoch, int64_t first_step);
  absl::Status WriteSystem(double now);
  absl::Status WriteEpochRates(const StepReport& step);
  absl::Status WriteLoggedStep(const StepReport& step);
  absl::Status Write(int64_t step, const NamedValues& scalars);

  TensorBoardOptions options_;
  std::unique_ptr<EventLog> log_;
  int64_t max_epochs_ = 0;
  int64_t next_step_ = 0;
  // The epochs whose rates and whose training are told.
  int64_t rates_epoch_ = -1;
  int64_t trained_epoch_ = -1;
  std::optional<SystemUsage> system_;
  int64_t system_count_ = 0;
};

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_REPORT_TENSORBOARD_H_
