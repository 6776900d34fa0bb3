// The files of a run as it starts: its folder, what is known of it beforehand,
// and the reporters that write the rest.
#ifndef SLIPWAY_TRAINER_RUN_FILES_H_
#define SLIPWAY_TRAINER_RUN_FILES_H_

#include "absl/status/status.h"
#include "trainer/loop/trainer.h"
#include "trainer/plan/plan.h"
#include "trainer/recipe/node.h"
#include "trainer/resume.h"
#include "trainer/run_folder.h"

namespace slipway {

// Creates the folder at `place.dir` (CreateRunFolder) with recipe.yaml,
// plan.txt and plan.json (with the planned rates as "lr", at a thousand steps
// at most: [{group, steps, values}]), and gives `trainer`, which is where it
// shall start, the reporters of metrics.jsonl, TensorBoard's event file and
// result.json. In a folder whose run goes on metrics.jsonl is cut back to that
// place.
absl::Status StartRunFolder(const RunPlace& place,
                            const RunFolderRequest& request,
                            const recipe::Node& recipe, const plan::Plan& plan,
                            loop::Trainer& trainer);

// What rank `rank`, which is not 0, writes into the folder that rank 0 has
// created: rank<N>.log with its epochs, events and problems, and its states.
absl::Status StartPeerFiles(const RunPlace& place, int rank,
                            loop::Trainer& trainer);

}  // namespace slipway

#endif  // SLIPWAY_TRAINER_RUN_FILES_H_
