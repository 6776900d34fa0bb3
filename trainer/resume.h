// From which checkpoint a run goes on, and in which folder.
//
//   Problems problems;
//   std::optional<RunPlace> place =
//       FindRunPlace(recipe, folder, absl::Now(), problems);
//   ...                                    // prepares a trainer for place->dir
//   if (!TakeUp(*place, recipe, plan, trainer, problems)) return 2;
//
// Keys of training_hyperparams, with SuperGradients' meaning:
//   resume        true: go on with the newest run of the experiment that has a
//                 latest checkpoint, or with the one in --run_dir. Where there
//                 is none yet, the training starts from the beginning, and a
//                 warning says so: a program that is restarted needs one
//                 command.
//   run_id        go on with this run (RUN_...) of the experiment
//   resume_path   start a new run from this checkpoint
//   resume_strict_load  what does not fit is an error (ours: the default is
//                 true, SuperGradients' false)
//   load_opt_params     false: the optimizer and the loss scaler start afresh
#ifndef SLIPWAY_TRAINER_RESUME_H_
#define SLIPWAY_TRAINER_RESUME_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "trainer/loop/trainer.h"
#include "trainer/plan/plan.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"
#include "trainer/run_folder.h"

namespace slipway {

struct RunPlace {
  std::string dir;         // where the run's files will lie: an absolute path
  std::string checkpoint;  // empty: the training starts from the beginning
  // The folder's own run goes on: its files are kept.
  bool continues = false;
  bool strict = true;
  bool optimizer = true;
};

// Looks, writes nothing. Nullopt if and only if `problems` gained an error:
// keys that contradict each other, a run or a file that is not there,
// resume_from_remote_sg_logger. The folder is RunFolderPath's for a new run.
std::optional<RunPlace> FindRunPlace(const recipe::Node& recipe,
                                     const RunFolderRequest& folder,
                                     absl::Time now, Problems& problems);

// Reads the checkpoint of `place`, if it has one, and puts `trainer` there.
// Notes tell how recipe and plan differ from the checkpoint's, key by key; the
// event `resume` has the same. False if and only if `problems` gained an error.
bool TakeUp(const RunPlace& place, const recipe::Node& recipe,
            const plan::Plan& plan, loop::Trainer& trainer, Problems& problems);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_RESUME_H_
