// Batch normalisation whose batch is that of all ranks.
//
//   at::Tensor y = SyncBatchNorm({.input = x, .weight = w, .bias = b,
//                                 .running_mean = mean, .running_var = var},
//                                0.1, 1e-5, dist::kWorldGroup);
//   model.Replace("bn1", SyncBatchNormLayer(options, old_layer));
//
// Forward, gradients and running statistics are those of one process with the
// samples of all ranks, whose numbers may differ and be zero. Each direction is
// one sum over the ranks, of C channels with n values each on a rank:
//
//   forward   n (m - s), n (v + (m - s)^2), n m, n     3 C + 1 numbers
//   backward  sum(dy), sum(dy (x - M))                 2 C numbers
//
// where m and v are a rank's mean and biased variance, s the running mean
// (which is the same everywhere, and near m, so that little is lost), and M the
// mean of all. Gradients of weight and bias are the rank's own: averaging them
// is the gradients' business. Ioffe and Szegedy, 2015, over ranks.
#ifndef SLIPWAY_PLUGINS_SYNCBN_SYNC_BATCH_NORM_H_
#define SLIPWAY_PLUGINS_SYNCBN_SYNC_BATCH_NORM_H_

#include <memory>
#include <string>

#include "ATen/core/Tensor.h"
#include "trainer/nn/layers/norm.h"
#include "trainer/nn/module.h"

namespace slipway::syncbn {

struct SyncBatchNormTensors {
  at::Tensor input;   // [N, C, ...]; N may be zero
  at::Tensor weight;  // [C] each; these four may be undefined
  at::Tensor bias;
  at::Tensor running_mean;  // written to
  at::Tensor running_var;   // written to, unbiased
};

// Computes in double for double inputs, else in float; the result has the
// input's type. Calls the operator `slipway::sync_batch_norm`, which a tracer
// records as one node: it reads no value on the host. Throws c10::Error if
// there is no group called `group`, or a peer is lost.
at::Tensor SyncBatchNorm(const SyncBatchNormTensors& tensors, double momentum,
                         double eps, const std::string& group);

// A layer that takes the place of `layer`, which nn::BatchNorm1d or 2d has made
// from `options`: with its tensors, under its names. In evaluation mode it does
// what that did.
std::unique_ptr<nn::Module> SyncBatchNormLayer(
    const nn::BatchNormOptions& options, const nn::Module& layer,
    std::string group);

}  // namespace slipway::syncbn

#endif  // SLIPWAY_PLUGINS_SYNCBN_SYNC_BATCH_NORM_H_
