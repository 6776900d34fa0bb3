// A training that is killed and goes on, as far as its reports: the first half
// of a test that reads them with TensorBoard.
//
//   killed_run FOLDER first    steps 10, 20, ..., 150 with loss = step; then a
//                              cut record, and SIGKILL
//   killed_run FOLDER second   goes on behind a checkpoint at step 100, to step
//                              200 with loss = 1000 + step
//
// An epoch has 50 steps.
#include <signal.h>

#include <fstream>
#include <iostream>
#include <string>

#include "trainer/report/tensorboard.h"
#include "trainer/report/testing/read_events.h"

namespace slipway {
namespace {

constexpr int64_t kEpoch = 50;

bool Log(TensorBoardReporter& reporter, int64_t step, double loss) {
  const int64_t epoch = (step - 1) / kEpoch;
  StepReport report = {.epoch = epoch, .step = step, .loss = loss};
  report.learning_rates = {{"default", 0.1}};
  report.logged = true;
  if (!reporter.OnStep(report).ok()) return false;
  if (step % kEpoch != 0) return true;
  return reporter
      .OnEpoch({.split = "train",
                .epoch = epoch,
                .step = step,
                .metrics = {{"Accuracy", loss / 2000}},
                .seconds = 0.25})
      .ok();
}

int Run(const std::string& folder, bool first) {
  TensorBoardReporter reporter({.folder = folder, .recipe = {{"a", 1}}});
  BeginReport begin;
  begin.max_epochs = 4;
  if (!first) begin.first_epoch = 2;
  if (!first) begin.first_step = 101;
  bool good = reporter.OnBegin(begin).ok();
  for (int64_t step = first ? 10 : 110; step <= (first ? 150 : 200);
       step += 10) {
    good = good &&
           Log(reporter, step, static_cast<double>(step) + (first ? 0 : 1000));
  }
  if (!good) return 1;
  if (!first) return 0;
  const std::string record = FrameRecord(EncodeScalars(1, 160, {{"cut", 1}}));
  std::ofstream(EventFilesIn(folder).back(), std::ios::app | std::ios::binary)
      << record.substr(0, record.size() / 2);
  return raise(SIGKILL);
}

}  // namespace
}  // namespace slipway

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: killed_run FOLDER first|second\n";
    return 2;
  }
  return slipway::Run(argv[1], std::string(argv[2]) == "first");
}
