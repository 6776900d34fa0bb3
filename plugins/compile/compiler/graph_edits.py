"""Changes to the graphs that the compiler makes, to fit them into packages.

A graph here is a torch.fx.GraphModule.
"""
import torch

import batch_size

aten = torch.ops.aten


def with_copies(graph, indices):
    """The graph with copies of these outputs in their place."""
    output = output_of(graph)
    outputs = list(output.args[0])
    with graph.graph.inserting_before(output):
        for i in indices:
            outputs[i] = graph.graph.call_function(aten.clone.default,
                                                   (outputs[i],))
    output.args = (tuple(outputs),)
    graph.recompile()
    return graph


def with_old_values(module, outputs, own):
    """The outputs, with copies of inputs that are overwritten later.

    Backward would otherwise read what forward has written: running statistics,
    say. The first `own` outputs are the model's.
    """
    written = overwritten(module)
    result = list(outputs)
    for i in range(own, len(outputs)):
        if outputs[i].name in written:
            with module.graph.inserting_after(inputs_of(module)[-1]):
                copy = module.graph.call_function(aten.clone.default,
                                                  (outputs[i],))
                copy.meta["val"] = outputs[i].meta["val"].clone()
            result[i] = copy
    return result


def overwritten(module):
    """The names of the inputs that the graph writes to."""
    return {node.args[0].name for node in module.graph.nodes
            if node.target is aten.copy_.default}


def without_ints(module, examples, options):
    """Lets backward read sizes off its tensors; returns the other examples.

    With a batch of any size, AOTAutograd hands the size itself from forward to
    backward, and a package takes tensors only.
    """
    inputs = inputs_of(module)
    first = next(node for node in module.graph.nodes
                 if node.op != "placeholder")
    kept = [i for i, node in enumerate(inputs) if not is_int(node)]
    for node in inputs:
        if is_int(node):
            with module.graph.inserting_before(first):
                size = module.graph.call_function(
                    aten.sym_size.int, _where_size_is(node, inputs))
            size.meta["val"] = node.meta["val"]
            node.replace_all_uses_with(size)
            module.graph.erase_node(node)
    module.recompile()
    static = options.get("static_input_idxs", ())
    options["static_input_idxs"] = [kept.index(i) for i in static if i in kept]
    return [examples[i] for i in kept]


def _where_size_is(wanted, inputs):
    """A tensor and its dimension that has this size."""
    for node in inputs:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            for i, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt) and (
                        size.node.expr == wanted.meta["val"].node.expr):
                    return node, i
    raise batch_size.CannotVary("no tensor has the size %s"
                                % wanted.meta["val"])


def output_of(module):
    return next(node for node in module.graph.nodes if node.op == "output")


def inputs_of(module):
    return [node for node in module.graph.nodes if node.op == "placeholder"]


def is_int(node):
    return node is not None and isinstance(node.meta.get("val"),
                                           (int, torch.SymInt))
