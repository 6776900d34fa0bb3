// What the parts of a training share: setup.cc makes it, trainer.cc runs it,
// saving.cc writes it to files. Internal to this folder.
#ifndef SLIPWAY_TRAINER_LOOP_RUN_H_
#define SLIPWAY_TRAINER_LOOP_RUN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "trainer/loop/lr_plan.h"
#include "trainer/loop/reporter_list.h"
#include "trainer/loop/run_result.h"
#include "trainer/loop/trainer.h"
#include "trainer/loop/watched_metric.h"
#include "trainer/plugin/optimizer.h"
#include "trainer/plugin/training_state.h"

namespace slipway::loop {

// Members are destroyed last-in-first-out: the hooks, whose plugins may hold
// tensors of the model, before the model.
struct Run {
  TrainerOptions options;
  TrainerParts parts;
  TrainingState state;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<LrPlan> lr_plan;
  ReporterList reporters;
  WatchedMetric watched;
  std::atomic<int> stop_signal = 0;

  // Of the current epoch, as far as it has come.
  int64_t finished_epochs = 0;
  int64_t batches_done = 0;
  // Optimizer steps in the latest checkpoint; -1 before there is one.
  int64_t saved_step = -1;
  NamedValues train_metrics;
  NamedValues valid_metrics;

  RunResult result;
  // What ended the training, where more is known of it than its status.
  std::optional<Problem> failure;

  const Hyperparams& hyperparams() const { return options.hyperparams; }
  HookRunner& hooks() { return *parts.hooks; }
};

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_RUN_H_
