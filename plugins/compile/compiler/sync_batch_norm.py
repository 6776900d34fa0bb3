"""Batch normalisation over all ranks, for the compiler.

The same as //plugins/syncbn:sync_batch_norm.cc, sum for sum, so that some ranks
may run the compiled graph while others run that: one sum over the ranks of
3 C + 1 numbers forward, and one of 2 C numbers backward. The world's size is
not in the graph, and no group is needed to compile it.

What backward needs of the running mean comes out of the sum, which is never
computed twice: the running mean itself is overwritten by then.
"""
import torch
# Its import makes the collectives differentiable.
import torch.distributed._functional_collectives  # noqa: F401

OPERATOR = "slipway::sync_batch_norm"

# torch.jit.load refuses graphs with operators that it does not know.
torch.library.define(
    OPERATOR,
    "(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!)? running_mean, "
    "Tensor(b!)? running_var, float momentum, float eps, str group) -> Tensor")


def sync_batch_norm(x, weight, bias, running_mean, running_var, momentum, eps,
                    group):
    y, mean, var, count = _SyncBatchNorm.apply(x, weight, bias, running_mean,
                                               eps, group)
    if running_mean is not None:
        with torch.no_grad():
            others = (count - 1).clamp_min(1)
            unbiased = var * (count / others)
            running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
            running_var.mul_(1 - momentum).add_(unbiased, alpha=momentum)
    return y


def _sum_over_ranks(values, group):
    collectives = torch.ops._c10d_functional
    return collectives.wait_tensor.default(
        collectives.all_reduce.default(values, "sum", group))


def _widened(x):
    return x if x.dtype == torch.float64 else x.float()


def _moments(sums):
    """Count, mean and biased variance of all ranks' values."""
    channels = (sums.shape[0] - 1) // 3
    count = sums[3 * channels:].clamp_min(1)
    distance = sums[:channels] / count
    mean = sums[2 * channels:3 * channels] / count
    var = (sums[channels:2 * channels] / count - distance.square()).clamp_min(0)
    return count, mean, var


def _along_channels(values, x):
    return values.view(1, -1, *[1] * (x.dim() - 2))


def _all_but_channels(x):
    return [0, *range(2, x.dim())]


class _SyncBatchNorm(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x, weight, bias, running_mean, eps, group):
        wide = _widened(x)
        var, mean = torch.var_mean(wide, _all_but_channels(wide), correction=0)
        n = torch.ones_like(wide.narrow(1, 0, 1)).sum().view(1)
        distance = mean if running_mean is None else mean - running_mean
        sums = _sum_over_ranks(
            torch.cat([distance * n, (var + distance.square()) * n, mean * n,
                       n]), group)
        count, mean, var = _moments(sums)
        scale = (var + eps).rsqrt()
        if weight is not None:
            scale = scale * weight
        y = (wide - _along_channels(mean, x)) * _along_channels(scale, x)
        if bias is not None:
            y = y + _along_channels(bias, x)
        ctx.save_for_backward(x, weight, sums)
        ctx.eps, ctx.group = eps, group
        ctx.mark_non_differentiable(mean, var, count)
        return y.to(x.dtype), mean, var, count

    @staticmethod
    def backward(ctx, dy, *_):
        x, weight, sums = ctx.saved_tensors
        count, mean, var = _moments(sums)
        wide, dy = _widened(x), _widened(dy)
        centred = wide - _along_channels(mean, x)
        inverse = (var + ctx.eps).rsqrt()
        dbias = dy.sum(_all_but_channels(x))
        slope = (dy * centred).sum(_all_but_channels(x))
        dx = None
        # Where nobody asks for it, the other ranks send no sum either.
        if ctx.needs_input_grad[0]:
            sums = _sum_over_ranks(torch.cat([dbias, slope]), ctx.group)
            mean_dy = sums[:x.shape[1]] / count
            tilt = sums[x.shape[1]:] / count * inverse.square()
            scale = inverse if weight is None else inverse * weight
            dx = (dy - _along_channels(mean_dy, x)
                  - centred * _along_channels(tilt, x))
            dx = (dx * _along_channels(scale, x)).to(x.dtype)
        if weight is None:
            return dx, None, None, None, None, None
        return (dx, (slope * inverse).to(weight.dtype), dbias.to(weight.dtype),
                None, None, None)
