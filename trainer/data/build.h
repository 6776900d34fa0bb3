// Builds loaders from recipes.
//
//   train_dataloader: digits_train
//   dataset_params:
//     train_dataset_params: {transforms: [ToTensor]}
//     train_dataloader_params: {batch_size: 64, shuffle: True}
//
//   std::unique_ptr<Loader> train =
//       BuildLoader(recipe, Split::kTrain, components, {.seed = 42}, problems);
//
// `<split>_dataloader` names an entry of Components::datasets; where it is
// null,
// `<split>_dataloader_params.dataset` does. As in SuperGradients, both maps are
// laid over the entry's defaults: the data set's deeply (a null wins, a list
// replaces a list), the loader's key by key (a null keeps the default).
//
// Of <split>_dataset_params, `transforms` and `on_bad_sample` (error or skip)
// are the loader's; the data set gets the rest. Of <split>_dataloader_params:
//
//   batch_size (1), shuffle (False), drop_last (False)
//   num_workers (0)     at most the number of samples
//   prefetch_factor     batches ahead, for each worker; 4 in all by default
//   collate_fn, sampler components, as transforms are; sampler excludes shuffle
//   min_samples         an epoch has as many at least: samples are repeated
//   pin_memory          a note, as nothing is pinned
//   worker_init_fn, persistent_workers, timeout, multiprocessing_context,
//   auto_wrap_sampler_when_ddp   no effect: there are no worker processes
#ifndef SLIPWAY_TRAINER_DATA_BUILD_H_
#define SLIPWAY_TRAINER_DATA_BUILD_H_

#include <cstdint>
#include <memory>

#include "trainer/data/loader.h"
#include "trainer/plugin/components.h"
#include "trainer/recipe/node.h"
#include "trainer/recipe/problem.h"

namespace slipway::data {

enum class Split { kTrain, kValid, kTest };

// What a recipe does not say.
struct LoaderWorld {
  uint64_t seed = 0;
  int rank = 0;
  int world_size = 1;
};

// Whether the recipe names data for `split` at all.
bool NamesLoader(const recipe::Node& recipe, Split split);

// The loader of `split` from a composed recipe. Null if and only if an error
// was appended: all that is wrong with the names, parameters and files of the
// loader and its parts, and a loader that has no batch.
std::unique_ptr<Loader> BuildLoader(const recipe::Node& recipe, Split split,
                                    const Components& components,
                                    const LoaderWorld& world,
                                    Problems& problems);

}  // namespace slipway::data

#endif  // SLIPWAY_TRAINER_DATA_BUILD_H_
