// The data sets of this plugin, under the names of their loaders.
//
//   name                            parameters (default)
//   digits_train, digits_val        train, channels (1)
//   cifar10_train, cifar10_val      root, train
//   cifar100_train, cifar100_val    root, train
//   imagenet_train, imagenet_val    root, decode
//
// All parameters, transforms and loader settings that a recipe leaves out come
// from recipes/dataset_params/<data set>_dataset_params.yaml, as compiled in.
// Digits, Cifar10, Cifar100 and ImageNetDataset are the same without such
// defaults, as SuperGradients names them under `dataloader_params.dataset`.
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_DATASETS_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_DATASETS_H_

#include "trainer/plugin/components.h"

namespace slipway::vision_classification {

void RegisterDatasets(Components& components);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_DATASETS_DATASETS_H_
