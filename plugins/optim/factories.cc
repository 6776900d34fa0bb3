#include "plugins/optim/factories.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugins/optim/adam.h"
#include "plugins/optim/lamb.h"
#include "plugins/optim/rmsprop.h"
#include "plugins/optim/schedules.h"
#include "plugins/optim/sgd.h"
#include "trainer/recipe/params.h"

namespace slipway::optim {
namespace {

using recipe::DoubleRule;
using recipe::Params;

DoubleRule AtLeastZero(double fallback) {
  return {.fallback = fallback, .min = 0};
}

DoubleRule Share(double fallback) {
  return {.fallback = fallback, .min = 0, .max = 1};
}

// The averages' weights; 1 would never forget, and divide by zero.
void ReadBetas(Params& params, double& beta1, double& beta2) {
  const std::vector<double> betas =
      params.Doubles("betas", 2, std::vector<double>{beta1, beta2});
  for (const double beta : betas) {
    if (beta >= 0 && beta < 1) continue;
    params.Fail("betas", "\"betas\" must be two numbers from 0 to below 1",
                "the usual ones are [0.9, 0.999]");
    return;
  }
  beta1 = betas[0];
  beta2 = betas[1];
}

SgdOptions ReadSgd(Params& params) {
  const SgdOptions usual;
  const SgdOptions options = {
      .momentum = params.Double("momentum", AtLeastZero(usual.momentum)),
      .dampening = params.Double("dampening", AtLeastZero(usual.dampening)),
      .weight_decay =
          params.Double("weight_decay", AtLeastZero(usual.weight_decay)),
      .nesterov = params.Bool("nesterov", usual.nesterov)};
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0)) {
    params.Fail("nesterov", "nesterov needs momentum and no dampening",
                "set momentum above 0 and leave dampening out");
  }
  return options;
}

AdamOptions ReadAdam(Params& params, AdamOptions options) {
  ReadBetas(params, options.beta1, options.beta2);
  options.eps = params.Double("eps", AtLeastZero(options.eps));
  options.weight_decay =
      params.Double("weight_decay", AtLeastZero(options.weight_decay));
  options.amsgrad = params.Bool("amsgrad", options.amsgrad);
  return options;
}

RmspropOptions ReadRmsprop(Params& params, RmspropOptions options) {
  options.alpha = params.Double("alpha", Share(options.alpha));
  options.eps = params.Double("eps", AtLeastZero(options.eps));
  options.weight_decay =
      params.Double("weight_decay", AtLeastZero(options.weight_decay));
  options.momentum = params.Double("momentum", AtLeastZero(options.momentum));
  options.centered = params.Bool("centered", options.centered);
  if (options.tensorflow) {
    options.lr_in_momentum =
        params.Bool("lr_in_momentum", options.lr_in_momentum);
    options.decoupled_decay =
        params.Bool("decoupled_decay", options.decoupled_decay);
  }
  return options;
}

LambOptions ReadLamb(Params& params) {
  LambOptions options;
  ReadBetas(params, options.beta1, options.beta2);
  options.eps = params.Double("eps", AtLeastZero(options.eps));
  options.weight_decay =
      params.Double("weight_decay", AtLeastZero(options.weight_decay));
  options.bias_correction =
      params.Bool("bias_correction", options.bias_correction);
  options.grad_averaging =
      params.Bool("grad_averaging", options.grad_averaging);
  options.max_grad_norm = params.Double(
      "max_grad_norm", {.fallback = options.max_grad_norm, .min = 1e-12});
  options.trust_clip = params.Bool("trust_clip", options.trust_clip);
  options.always_adapt = params.Bool("always_adapt", options.always_adapt);
  return options;
}

// Registers the class T under `name`, with options as `read` finds them.
template <typename T, typename Read>
void AddOptimizer(Components& components, const std::string& name, Read read) {
  components.optimizers.Add(
      name,
      [name, read](const BuildArgs& args, std::vector<ParameterGroup> groups)
          -> std::unique_ptr<Optimizer> {
        const size_t before = args.problems.size();
        Params params(args.params, "optimizer " + name, args.problems);
        const auto options = read(params);
        params.Finish();
        if (args.problems.size() > before) return nullptr;
        return std::make_unique<T>(std::move(groups), options);
      });
}

using ScheduleReader = std::unique_ptr<Schedule> (*)(const recipe::Node&,
                                                     Problems&);

void AddSchedule(Components& components, const std::string& name,
                 const std::string& alias, ScheduleReader read) {
  const auto create = [name, read](const BuildArgs& args) {
    const size_t before = args.problems.size();
    Params(args.params, "schedule " + name, args.problems).Finish();
    std::unique_ptr<Schedule> schedule = read(args.recipe, args.problems);
    return args.problems.size() == before ? std::move(schedule) : nullptr;
  };
  components.schedules.Add(name, create);
  components.schedules.Add(alias, create);
}

}  // namespace

void RegisterOptimizers(Components& components) {
  AddOptimizer<Sgd>(components, "SGD", ReadSgd);
  AddOptimizer<Adam>(components, "Adam", [](Params& params) {
    return ReadAdam(params, {.weight_decay = 1e-4});
  });
  AddOptimizer<Adam>(components, "AdamW", [](Params& params) {
    return ReadAdam(params, {.weight_decay = 1e-2, .decoupled = true});
  });
  AddOptimizer<Rmsprop>(components, "RMSprop",
                        [](Params& params) { return ReadRmsprop(params, {}); });
  AddOptimizer<Rmsprop>(components, "RMSpropTF", [](Params& params) {
    return ReadRmsprop(params, RmspropTfDefaults());
  });
  AddOptimizer<Lamb>(components, "Lamb", ReadLamb);
}

void RegisterSchedules(Components& components) {
  AddSchedule(components, "CosineLRScheduler", "cosine", ReadCosineSchedule);
  AddSchedule(components, "PolyLRScheduler", "poly",
              [](const recipe::Node&, Problems&) { return PolySchedule(); });
  AddSchedule(components, "ExponentialLRScheduler", "exp",
              ReadExponentialSchedule);
  AddSchedule(components, "StepLRScheduler", "step", ReadStepSchedule);
}

}  // namespace slipway::optim
