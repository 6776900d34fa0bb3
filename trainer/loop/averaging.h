// The mean of the best models: `average_best_models`, as SuperGradients has it.
//
// After each validated epoch the weights that were evaluated (averaged ones,
// where a plugin put them in) are kept if they are among the ten best, as
// averaging/<epoch>.pth. At the end their mean is evaluated once and written as
// average_model.pth. Unlike there, no file holds ten models, none is read
// before the end, and then one tensor at a time.
#ifndef SLIPWAY_TRAINER_LOOP_AVERAGING_H_
#define SLIPWAY_TRAINER_LOOP_AVERAGING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainer/checkpoint/background_writer.h"
#include "trainer/loop/evaluation.h"
#include "trainer/loop/run.h"

namespace slipway::loop {

// Before the first epoch, after a resume: finds the models that earlier runs in
// this folder kept, removes those of epochs that are to be trained again, and
// what a killed process was writing.
void BeginAveraging(Run& run);

// While an epoch's evaluated weights are in place: keeps a copy of them if
// `values` make them one of the best.
void OfferModel(Run& run, const NamedValues& values);

// Appends the writing of that copy, if there is one, to `jobs`.
void AddModelJob(Run& run, std::vector<SaveJob>& jobs);

// If `path` is a file of AddModelJob, which is whole now: enters it among the
// best, removes the file that it replaces, and returns true.
bool TakeModelFile(Run& run, const std::string& path);

// At the end, when all saves are finished: evaluates the mean by `evaluation`
// (null: not) and writes average_model.pth. The model is as it was afterwards.
// Does nothing where no model was kept. May throw c10::Error.
absl::Status WriteAverage(Run& run, const Evaluation* evaluation);

}  // namespace slipway::loop

#endif  // SLIPWAY_TRAINER_LOOP_AVERAGING_H_
