// The training loop: epochs, steps, evaluation, checkpoints and reports around
// a model, its loaders and the plugins of a plan.
//
//   Problems problems;
//   std::unique_ptr<Trainer> trainer =
//       Trainer::Create(std::move(parts), options, problems);
//   if (trainer == nullptr) { std::cerr << FormatProblems(problems); return 2;
//   } const RunResult result = trainer->Fit(); return result.exit_code;
//
// A step is one optimizer step, made of `batch_accumulate` micro-batches; its
// order is a contract:
//
//   for each micro-batch: forward, loss, backward
//   unscale -> BeforeOptimizer -> clip -> step -> AfterOptimizer
//
// Create runs every hook up to WrapForward and starts nothing: no file is
// written, no batch read. Fit trains once. Both belong to one thread, on which
// all hooks, reporters and losses run; RequestStop may be called from anywhere.
#ifndef SLIPWAY_TRAINER_LOOP_TRAINER_H_
#define SLIPWAY_TRAINER_LOOP_TRAINER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/loader.h"
#include "trainer/loop/hyperparams.h"
#include "trainer/loop/run_result.h"
#include "trainer/nn/module.h"
#include "trainer/plugin/loss.h"
#include "trainer/plugin/metric.h"
#include "trainer/plugin/optimizer.h"
#include "trainer/plugin/schedule.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"
#include "trainer/report/reporter.h"

namespace slipway::loop {

// What is trained, and with what. All of it becomes the trainer's.
struct TrainerParts {
  std::unique_ptr<nn::Module> model;
  std::unique_ptr<data::Loader> train_loader;
  std::unique_ptr<data::Loader> valid_loader;  // null: no validation
  std::unique_ptr<data::Loader> test_loader;   // null: no test
  std::unique_ptr<Loss> loss;
  // What the loss is called among the metrics, such as "CrossEntropyLoss".
  std::string loss_name = "loss";
  std::vector<std::unique_ptr<Metric>> train_metrics;
  std::vector<std::unique_ptr<Metric>> valid_metrics;
  std::unique_ptr<Schedule> schedule;  // null: the initial rate throughout
  // Null, with an error appended, if the groups do not suit it.
  std::function<std::unique_ptr<Optimizer>(std::vector<ParameterGroup>,
                                           Problems&)>
      make_optimizer;
  // Told in this order, on rank 0.
  std::vector<std::unique_ptr<Reporter>> reporters;
};

class Trainer;

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_TRAINER_H_
