// What batches are made of and by: CollateMixup and RepeatAugSampler, with
// SuperGradients' names and parameters.
//
//   train_dataloader_params:
//     collate_fn:
//       CollateMixup: {mixup_alpha: 0.2, cutmix_alpha: 1, num_classes: 1000}
//     sampler:
//       RepeatAugSampler: {num_repeats: 3}
//
// CollateMixup stacks, then mixes each image with the one as far from the other
// end of the batch, and makes the target float[n, classes] (H. Zhang et al.,
// "mixup", 2017; S. Yun et al., "CutMix", 2019). Images must be floats and
// targets classes; the number of images may be odd, where the middle one stays
// as it is.
//
//   mixup_alpha (1), cutmix_alpha (0)  of the Beta distribution; 0 switches off
//   cutmix_minmax (null)  sides of the part cut out, as shares of the image's;
//                         cutmix_alpha is 1 then
//   prob (1)              of mixing at all
//   switch_prob (0.5)     of cutmix, where both are on
//   mode (batch)          batch, pair or elem: what draws for itself
//   correct_lam (True)    whether targets follow what was really cut out
//   label_smoothing (0.1), num_classes (1000)
//
// `prob` may be set between epochs.
//
// RepeatAugSampler shows each sample several times in a row, so that each rank
// gets it augmented in another way, and ends the epoch after as many images as
// one pass has (E. Hoffer et al., "Augment your batch", 2019).
//
//   num_repeats (3), shuffle (True)
//   selected_round (256)  the epoch's size is rounded down to its multiple
//   selected_ratio (0)    nothing else is supported
#ifndef SLIPWAY_PLUGINS_VISION_CLASSIFICATION_BATCHES_BATCHES_H_
#define SLIPWAY_PLUGINS_VISION_CLASSIFICATION_BATCHES_BATCHES_H_

#include <cstdint>
#include <memory>

#include "trainer/data/dataset.h"
#include "trainer/plugin/components.h"

namespace slipway::vision_classification {

std::unique_ptr<data::Collate> BuildCollateMixup(const BuildArgs& args);
std::unique_ptr<data::Sampler> BuildRepeatAugSampler(const BuildArgs& args,
                                                     int64_t size);

// Adds both by their names.
void RegisterBatches(Components& components);

}  // namespace slipway::vision_classification

#endif  // SLIPWAY_PLUGINS_VISION_CLASSIFICATION_BATCHES_BATCHES_H_
