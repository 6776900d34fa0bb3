#include "plugins/amp/amp.h"

#include <string>

#include "plugins/amp/autocast.h"
#include "plugins/amp/loss_scaler.h"
#include "trainer/recipe/params.h"

namespace slipway::amp {
namespace {

Dtype DtypeOf(const std::string& name) {
  if (name == "bf16") return Dtype::kBf16;
  return name == "fp16" ? Dtype::kFp16 : Dtype::kAuto;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> Amp::Create(
    const recipe::Node& config) {
  Problems problems;
  recipe::Params params(config, "plugin amp", problems);
  const Options options = {
      .dtype = DtypeOf(params.Text("dtype", "auto", {"auto", "bf16", "fp16"})),
      .force = params.Bool("force", false)};
  params.Finish();
  if (HasErrors(problems)) {
    return absl::InvalidArgumentError(FormatProblems(problems));
  }
  return std::make_unique<Amp>(options, plan::DetectEnvironment());
}

absl::Status Amp::Configure(ConfigureContext& context) {
  precision_ = ChoosePrecision(options_, context.device().type(), environment_);
  if (precision_ && precision_->scales_loss) {
    context.SetGradientScaler(std::make_unique<LossScaler>(context.device()));
  }
  return absl::OkStatus();
}

absl::Status Amp::BeforeForward(ForwardContext& context) {
  if (precision_) {
    context.Enter(Autocast(context.device().type(), precision_->dtype));
  }
  return absl::OkStatus();
}

}  // namespace slipway::amp

SLIPWAY_PLUGIN("amp", "1.0.0", slipway::amp::Amp);
