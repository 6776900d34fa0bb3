#include "plugins/optim/reference_steps.h"

#include <algorithm>
#include <cmath>

namespace slipway::optim {
namespace {

// Calls `update(p, g, i, k)` for element k of parameter i.
template <typename Update>
void ForEach(Numbers& parameters, const Numbers& gradients, Update update) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (size_t k = 0; k < parameters[i].size(); ++k) {
      update(parameters[i][k], gradients[i][k], i, k);
    }
  }
}

// Numbers of the shape of `like`.
Numbers Filled(const Numbers& like, double value) {
  Numbers numbers = like;
  for (std::vector<double>& row : numbers) {
    std::fill(row.begin(), row.end(), value);
  }
  return numbers;
}

double Norm(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number * number;
  return std::sqrt(sum);
}

double GlobalNorm(const Numbers& numbers) {
  double sum = 0;
  for (const std::vector<double>& row : numbers) sum += Norm(row) * Norm(row);
  return std::sqrt(sum);
}

}  // namespace

ReferenceStep ReferenceSgd(const SgdOptions& options) {
  return [options, buffers = Numbers(), first = true](
             Numbers& parameters, const Numbers& gradients, double lr) mutable {
    if (first) buffers = Filled(parameters, 0);
    ForEach(
        parameters, gradients, [&](double& p, double g, size_t i, size_t k) {
          g += options.weight_decay * p;
          double& buffer = buffers[i][k];
          buffer =
              first ? g
                    : options.momentum * buffer + (1 - options.dampening) * g;
          double step = options.momentum == 0 ? g : buffer;
          if (options.nesterov) step = g + options.momentum * buffer;
          p -= lr * step;
        });
    first = false;
  };
}

ReferenceStep ReferenceAdam(const AdamOptions& options) {
  return [options, m = Numbers(), v = Numbers(), largest = Numbers(), t = 0](
             Numbers& parameters, const Numbers& gradients, double lr) mutable {
    if (t++ == 0) m = v = largest = Filled(parameters, 0);
    const double correction1 = 1 - std::pow(options.beta1, t);
    const double correction2 = 1 - std::pow(options.beta2, t);
    ForEach(parameters, gradients,
            [&](double& p, double g, size_t i, size_t k) {
              if (options.decoupled) p *= 1 - lr * options.weight_decay;
              if (!options.decoupled) g += options.weight_decay * p;
              m[i][k] = options.beta1 * m[i][k] + (1 - options.beta1) * g;
              v[i][k] = options.beta2 * v[i][k] + (1 - options.beta2) * g * g;
              largest[i][k] = std::max(largest[i][k], v[i][k]);
              const double second = options.amsgrad ? largest[i][k] : v[i][k];
              p -= lr * m[i][k] / correction1 /
                   (std::sqrt(second / correction2) + options.eps);
            });
  };
}

ReferenceStep ReferenceRmsprop(const RmspropOptions& options) {
  return [options, s = Numbers(), a = Numbers(), buffers = Numbers()](
             Numbers& parameters, const Numbers& gradients, double lr) mutable {
    if (s.empty()) {
      s = Filled(parameters, options.tensorflow ? 1 : 0);
      a = buffers = Filled(parameters, 0);
    }
    ForEach(parameters, gradients,
            [&](double& p, double g, size_t i, size_t k) {
              if (options.decoupled_decay) p *= 1 - options.weight_decay;
              if (!options.decoupled_decay) g += options.weight_decay * p;
              s[i][k] = options.alpha * s[i][k] + (1 - options.alpha) * g * g;
              if (options.centered) {
                a[i][k] = options.alpha * a[i][k] + (1 - options.alpha) * g;
              }
              const double variance = s[i][k] - a[i][k] * a[i][k];
              const double deviation = options.tensorflow
                                           ? std::sqrt(variance + options.eps)
                                           : std::sqrt(variance) + options.eps;
              double step = g / deviation;
              if (options.lr_in_momentum) step *= lr;
              buffers[i][k] = options.momentum * buffers[i][k] + step;
              p -= buffers[i][k] * (options.lr_in_momentum ? 1 : lr);
            });
  };
}

ReferenceStep ReferenceLamb(const LambOptions& options) {
  return [options, m = Numbers(), v = Numbers(), t = 0](
             Numbers& parameters, const Numbers& gradients, double lr) mutable {
    if (t++ == 0) m = v = Filled(parameters, 0);
    const double clip =
        std::max(GlobalNorm(gradients) / options.max_grad_norm, 1.0);
    const bool corrects = options.bias_correction;
    const double correction1 = corrects ? 1 - std::pow(options.beta1, t) : 1;
    const double correction2 = corrects ? 1 - std::pow(options.beta2, t) : 1;
    const double share = options.grad_averaging ? 1 - options.beta1 : 1;
    Numbers updates = Filled(parameters, 0);
    ForEach(
        parameters, gradients, [&](double& p, double g, size_t i, size_t k) {
          g /= clip;
          m[i][k] = options.beta1 * m[i][k] + share * g;
          v[i][k] = options.beta2 * v[i][k] + (1 - options.beta2) * g * g;
          updates[i][k] = m[i][k] / correction1 /
                              (std::sqrt(v[i][k] / correction2) + options.eps) +
                          options.weight_decay * p;
        });
    for (size_t i = 0; i < parameters.size(); ++i) {
      const double size = Norm(parameters[i]);
      const double step = Norm(updates[i]);
      double ratio = size > 0 && step > 0 ? size / step : 1;
      if (options.weight_decay == 0 && !options.always_adapt) ratio = 1;
      if (options.trust_clip) ratio = std::min(ratio, 1.0);
      for (size_t k = 0; k < parameters[i].size(); ++k) {
        parameters[i][k] -= lr * ratio * updates[i][k];
      }
    }
  };
}

}  // namespace slipway::optim
