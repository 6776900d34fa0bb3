"""A graph as the trainer captures it, and the same for PyTorch's compiler.

    capture = captured_graph.read(folder)
    graph = captured_graph.to_fx(capture.module)     # aten operators
    inputs = captured_graph.FakeInputs(capture)      # shapes, no values

The folder holds graph.pt, a TorchScript module with one method, and graph.json,
which describes the inputs: parameters, buffers, in a whole step what else it
updates, and data, in this order. A whole step has a second graph, update.pt:
see whole_step.py.
"""
import dataclasses
import json
import operator
import os

import torch
from torch._dynamo.source import ConstantSource
from torch._export.converter import get_op_overload
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic, ShapeEnv, StatelessSymbolicContext)

import sync_batch_norm
from compile_errors import CompileError

aten = torch.ops.aten


@dataclasses.dataclass
class Update:
    """What follows backward in a whole step."""
    module: torch.jit.ScriptModule  # of the inputs, and then the gradients
    differentiated: list  # of the inputs, those that have gradients
    updated: list  # of the inputs, those that it may write to
    guard: str  # what has to be finite: "none", "loss", "gradients"


@dataclasses.dataclass
class Capture:
    module: torch.jit.ScriptModule
    inputs: list  # of graph.json's objects
    state: int  # how many of the inputs come before the data
    differentiate: bool
    dynamic: bool  # whether the batch's size may change
    update: Update = None


def read(folder):
    with open(os.path.join(folder, "graph.json"), encoding="utf-8") as file:
        about = json.load(file)
    inputs = about["inputs"]
    if about["schema"] != 1:
        raise CompileError("compile", "%s/graph.json has schema %s"
                           % (folder, about["schema"]))
    return Capture(
        # Operators of the trainer's must be known before they are read.
        module=torch.jit.load(os.path.join(folder, "graph.pt")),
        inputs=inputs,
        state=about["state"],
        differentiate=about["differentiate"],
        dynamic=about["dynamic"],
        update=_read_update(folder, about.get("update")))


def _read_update(folder, about):
    if about is None:
        return None
    return Update(module=torch.jit.load(os.path.join(folder, "update.pt")),
                  **about)


class FakeInputs:
    """Tensors with the inputs' sizes, strides and types, and nothing in them.

    With `dynamic`, the first dimension of the first data input, and of all data
    inputs that have the same, is one symbol: `batch`.
    """

    def __init__(self, capture, dynamic):
        self.shapes = ShapeEnv()
        self.mode = FakeTensorMode(shape_env=self.shapes,
                                   allow_non_fake_inputs=True)
        self.batch = None
        self.traced_batch = None
        self.tensors = [self._fake(i, about, dynamic and i >= capture.state)
                        for i, about in enumerate(capture.inputs)]

    def _fake(self, index, about, dynamic):
        real = torch.empty_strided(
            about["size"], about["stride"], device=about["device"],
            dtype=getattr(torch, about["dtype"]))
        real.requires_grad_(about["requires_grad"])
        sizes = [DimDynamic.STATIC] * real.dim()
        dynamic = dynamic and self._is_batch(about["size"])
        if dynamic:
            # Equal sizes become the same symbol.
            sizes[0] = DimDynamic.DUCK
        fake = self.mode.from_tensor(
            real, source=ConstantSource("in%d" % index),
            symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes))
        if dynamic:
            self.batch = fake.shape[0]
        return fake

    def _is_batch(self, size):
        if not size:
            return False
        if self.traced_batch is None:
            self.traced_batch = size[0]
        return size[0] == self.traced_batch


def to_fx(module):
    """The graph as a torch.fx.GraphModule of aten operators."""
    return _Translation(module.inlined_graph).module


def with_plain_constants(module):
    """The module, whose constants are no buffers.

    A GraphModule registers tensors, and would get an input for each.
    """
    for name in list(module._buffers):
        constant = module._buffers.pop(name)
        setattr(module, name, constant)
    return module


class _Translation:

    def __init__(self, graph):
        self.graph = torch.fx.Graph()
        self.root = torch.nn.Module()
        self.values = {}
        # The first input is the module itself.
        for i, value in enumerate(list(graph.inputs())[1:]):
            self._set(value, self.graph.placeholder("in%d" % i))
        for node in graph.nodes():
            self._translate(node)
        outputs = [self._get(value) for value in graph.outputs()]
        if len(outputs) == 1 and isinstance(outputs[0], list):
            outputs = outputs[0]
        self.graph.output(tuple(outputs))
        self.module = with_plain_constants(
            torch.fx.GraphModule(self.root, self.graph))

    def _set(self, value, translated):
        self.values[value.debugName()] = translated

    def _get(self, value):
        return self.values[value.debugName()]

    def _translate(self, node):
        kind, outputs = node.kind(), list(node.outputs())
        inputs = [self._get(value) for value in node.inputs()]
        if kind == "prim::Constant":
            self._set(outputs[0], self._constant(outputs[0].toIValue()))
        elif kind in ("prim::ListConstruct", "prim::TupleConstruct"):
            self._set(outputs[0], inputs)
        elif kind in ("prim::ListUnpack", "prim::TupleUnpack"):
            self._unpack(inputs[0], outputs)
        elif kind in ("prim::NumToTensor", "aten::Int", "aten::ScalarImplicit"):
            self._set(outputs[0], inputs[0])
        elif kind == "aten::size" and len(inputs) == 2:
            self._call(aten.sym_size.int, inputs, {}, outputs)
        elif kind == sync_batch_norm.OPERATOR:
            self._call(sync_batch_norm.sync_batch_norm, inputs, {}, outputs)
        elif kind.startswith("prim::"):
            raise CompileError(
                "unsupported", "the graph has %s: control flow, or objects "
                "that are no tensors" % kind)
        else:
            self._call_operator(node, inputs, outputs)

    def _constant(self, value):
        if not isinstance(value, torch.Tensor):
            return value
        if value.dim() == 0:
            return value.item()  # a number that the tracer has wrapped
        name = "constant%d" % len(vars(self.root))
        setattr(self.root, name, value)
        return self.graph.get_attr(name)

    def _unpack(self, source, outputs):
        if isinstance(source, list):
            for value, output in zip(source, outputs):
                self._set(output, value)
        else:
            self._set_items(source, outputs)

    def _set_items(self, source, outputs):
        for i, output in enumerate(outputs):
            item = self.graph.call_function(operator.getitem, (source, i))
            self._set(output, item)

    def _call_operator(self, node, inputs, outputs):
        if node.kind() == "aten::_convolution":
            # The tracer's form, with flags that no longer mean anything.
            self._call(aten.convolution.default, inputs[:9], {}, outputs)
            return
        try:
            overload = get_op_overload(node)
        except (AssertionError, RuntimeError) as error:
            raise CompileError("unsupported", "PyTorch has no operator %s"
                               % node.kind()) from error
        positional, named = [], {}
        for argument, value in zip(overload._schema.arguments, inputs):
            if argument.kwarg_only:
                named[argument.name] = value
            else:
                positional.append(value)
        self._call(overload, positional, named, outputs)

    def _call(self, function, positional, named, outputs):
        result = self.graph.call_function(function, tuple(positional), named)
        if len(outputs) == 1:
            self._set(outputs[0], result)
        else:
            self._set_items(result, outputs)
