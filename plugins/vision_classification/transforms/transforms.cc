#include "plugins/vision_classification/transforms/transforms.h"

namespace slipway::vision_classification {

void RegisterTransforms(Components& components) {
  components.transforms.Add("CenterCrop", BuildCenterCrop);
  components.transforms.Add("ColorJitter", BuildColorJitter);
  components.transforms.Add("Lighting", BuildLighting);
  components.transforms.Add("Normalize", BuildNormalize);
  components.transforms.Add("Pad", BuildPad);
  components.transforms.Add("RandAugmentTransform", BuildRandAugment);
  components.transforms.Add("RandomCrop", BuildRandomCrop);
  components.transforms.Add("RandomErase", BuildRandomErase);
  components.transforms.Add("RandomHorizontalFlip", BuildRandomHorizontalFlip);
  components.transforms.Add("RandomResizedCropAndInterpolation",
                            BuildRandomResizedCrop);
  components.transforms.Add("RandomVerticalFlip", BuildRandomVerticalFlip);
  components.transforms.Add("Resize", BuildResize);
  components.transforms.Add("ToTensor", BuildToTensor);
}

}  // namespace slipway::vision_classification
