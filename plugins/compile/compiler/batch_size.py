"""For which batch sizes compiled code with a symbolic batch is right.

The compiler may have found on its way that the size must be a certain one, a
multiple of eight, or below a limit; such conditions are collected, and nothing
in a package checks them.
"""
import contextlib
from unittest import mock

import torch
from torch._inductor.codegen.cpp import CppKernel
from torch._inductor.virtualized import V

# Beyond it only a size that no condition limits is allowed.
LARGEST_TRIED = 4096


class CannotVary(Exception):
    """The graph cannot be compiled for more than one batch size."""


def valid(inputs):
    """The fields of package.json about it.

    `inputs` are captured_graph.FakeInputs. The range is around the size that
    was captured; sizes of 0 and 1 are never in it, as PyTorch compiles those
    apart.
    """
    traced = inputs.traced_batch
    fixed = {"dynamic_batch": False, "batch_min": traced, "batch_max": traced}
    if inputs.batch is None or isinstance(inputs.batch, int):
        return fixed
    symbol = inputs.batch.node.expr
    if inputs.shapes.replace(symbol).is_number:
        return fixed
    conditions = [guard.expr for guard in inputs.shapes.guards
                  if symbol in guard.expr.free_symbols]
    known = inputs.shapes.var_to_range.get(symbol)

    def allowed(size):
        return (known is None or known.lower <= size <= known.upper) and all(
            bool(condition.subs(symbol, size)) for condition in conditions)

    low = high = traced
    while low > 2 and allowed(low - 1):
        low -= 1
    while high < LARGEST_TRIED and allowed(high + 1):
        high += 1
    if low == high:
        return fixed
    unlimited = not conditions and high >= LARGEST_TRIED
    return {"dynamic_batch": True, "batch_min": low,
            "batch_max": None if unlimited else high}



@contextlib.contextmanager
def without_conditions():
    """A context in which two of the compiler's habits do not limit the size.

    Both ask whether the batch is large, for something that is right either way;
    the last batch of an epoch would be outside the range.
    """
    with (mock.patch.object(torch._C, "_select_conv_backend",
                            _select_conv_backend(
                                torch._C._select_conv_backend)),
          mock.patch.object(CppKernel, "need_use_acc_helper",
                            _need_use_acc_helper(
                                CppKernel.need_use_acc_helper))):
        yield


def _select_conv_backend(select):
    """Which library computes a convolution: another from 16 samples on.

    Only the memory format follows from it, and that is the same for both; at
    run time it is asked again.
    """

    def with_numbers(x, *args, **kwargs):
        symbolic = [*x.shape, *x.stride()]
        if any(isinstance(number, torch.SymInt) for number in symbolic):
            x = torch.empty_strided(
                [_captured(size) for size in x.shape],
                [_captured(stride) for stride in x.stride()],
                dtype=x.dtype, device=x.device)
        return select(x, *args, **kwargs)
    return with_numbers


def _captured(size):
    return size.node.hint if isinstance(size, torch.SymInt) else size


def _need_use_acc_helper(decide):
    """Whether a long sum is made of partial sums, which are more exact."""

    def with_numbers(kernel, *args, **kwargs):
        ranges = kernel.call_ranges
        if ranges is not None:
            kernel.call_ranges = [V.graph.sizevars.optimization_hint(size)
                                  for size in ranges]
        try:
            return decide(kernel, *args, **kwargs)
        finally:
            kernel.call_ranges = ranges
    return with_numbers
