#include "plugins/amp/precision.h"

namespace slipway::amp {

std::optional<Precision> ChoosePrecision(const Options& options,
                                         at::DeviceType device,
                                         const plan::Environment& environment) {
  const bool cpu = device == at::DeviceType::CPU;
  if (cpu && !environment.cpu_bf16 && !options.force) return std::nullopt;
  const bool fp16 =
      options.dtype == Dtype::kFp16 || (options.dtype == Dtype::kAuto && !cpu);
  if (fp16) return Precision{at::ScalarType::Half, true};
  return Precision{at::ScalarType::BFloat16, false};
}

}  // namespace slipway::amp
