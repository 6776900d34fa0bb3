"""A training step as one graph: forward, loss, backward, update.

    graph = whole_step.compose(forward, capture, inputs)

The trainer captures what it has in C++, which is forward with loss, and the
update of parameters, momentum and averages, given gradients. Autograd fills in
what is between, and the guard is put around: where the loss (or a gradient) is
not finite, every tensor keeps its value.
"""
import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.fx.experimental.proxy_tensor import make_fx

import captured_graph
from compile_errors import CompileError


def compose(forward, capture, inputs):
    """The step as a torch.fx.GraphModule of the capture's inputs.

    It returns what forward does, and whether it has taken the step.
    `inputs` are captured_graph.FakeInputs.
    """
    update = captured_graph.to_fx(capture.update.module)

    def step(*tensors):
        outputs, gradients = _differentiate(forward, capture.update, tensors)
        with torch.no_grad():
            taken = _guard(capture.update.guard, outputs[0], gradients)
            _update(update, capture.update, tensors, gradients, taken)
            if taken is None:
                taken = torch.isfinite(outputs[0])
            return [output.detach() for output in outputs] + [taken]

    with inputs.mode, enable_python_dispatcher():
        graph = make_fx(step)(*inputs.tensors)
    return captured_graph.with_plain_constants(graph)


def _differentiate(forward, about, tensors):
    leaves = list(tensors)
    for i in about.differentiated:
        leaves[i] = tensors[i].detach().requires_grad_()
    wanted = [leaves[i] for i in about.differentiated]
    with torch.enable_grad():
        outputs = forward(*leaves)
        gradients = torch.autograd.grad(outputs[0], wanted, allow_unused=True)
    if any(gradient is None for gradient in gradients):
        raise CompileError("compile", "a parameter has a gradient in the model "
                           "and none in its graph")
    return outputs, gradients


def _guard(guard, loss, gradients):
    """A tensor that says whether to take the step; None: always."""
    if guard == "none":
        return None
    finite = torch.isfinite(loss)
    if guard == "gradients":
        for gradient in gradients:
            finite = finite & torch.isfinite(gradient).all()
    return finite


def _update(update, about, tensors, gradients, taken):
    """Writes to the tensors that are updated, if the step is taken."""
    fresh = list(tensors)
    for i in about.updated:
        fresh[i] = tensors[i].detach().clone()
    update(*fresh, *gradients)
    for i in about.updated:
        new = fresh[i]
        if taken is not None:
            new = torch.where(taken, new, tensors[i])
        tensors[i].detach().copy_(new)
