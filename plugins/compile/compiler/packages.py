"""Compiles a captured graph into packages that run without Python.

    about = packages.compile(capture, folder, settings)

AOTAutograd makes forward and backward of the graph, Inductor compiles them as
torch.compile does, and each becomes a folder in `folder`: forward, and
backward where the capture is to be differentiated. `about` says how they
fit together; compile_graph.py tells what its fields mean.

This leans on parts of PyTorch that are not its public interface, and so do the
traps that it handles: each is said where it is, and has its test in
packages_test.py. The version of PyTorch is pinned for this reason too.
"""
import contextlib
import dataclasses
import os
import time
import types
import zipfile
from unittest import mock

import torch
import torch._functorch.config as functorch_config
from torch._functorch._aot_autograd.schemas import OutputType
from torch._inductor import config, cpp_builder
from torch._inductor.compile_fx import compile_fx, compile_fx_inner
from torch._inductor.graph import GraphLowering
from torch._inductor.ir import IRNode
from torch._inductor.output_code import CompiledAOTI
from torch._inductor.package import package_aoti
from torch._inductor.utils import set_tracing_context_output_strides
from torch._inductor.virtualized import V
from torch.fx.experimental.symbolic_shapes import SymExprPrinter
from torch.fx.passes import _tensorify_python_scalars

import batch_size
import captured_graph
import graph_edits
import whole_step
from compile_errors import CompileError


@dataclasses.dataclass
class Settings:
    options: dict  # of Inductor, by name
    layout: bool  # whether memory layouts may be changed
    debug_dir: str = ""  # keeps the graphs as text, where it is not empty


@dataclasses.dataclass
class Part:
    """Forward or backward, compiled."""
    inputs: list  # names of nodes, in order
    outputs: list
    nodes: int
    seconds: float
    strides: list  # of the outputs, as tuples of text; None for no tensor


class AliasedOutputs(Exception):
    """Outputs that share memory with inputs or with each other."""

    def __init__(self, indices):
        super().__init__(indices)
        self.indices = indices


def compile(capture, folder, settings):
    graph = captured_graph.to_fx(capture.module)
    dump(settings, "captured", graph)
    if capture.dynamic:
        try:
            return _compile_with(graph, capture, folder, settings, True)
        except batch_size.CannotVary:
            pass
    return _compile_with(graph, capture, folder, settings, False)


def _compile_with(graph, capture, folder, settings, dynamic):
    try:
        return Compilation(capture, folder, settings, dynamic).run(graph)
    except AliasedOutputs as error:
        # AOTAutograd leaves such outputs to its run time, which is Python.
        graph = graph_edits.with_copies(graph, error.indices)
        return Compilation(capture, folder, settings, dynamic).run(graph)



class Compilation:
    """One graph on its way through the compiler."""

    def __init__(self, capture, folder, settings, dynamic):
        self.capture = capture
        self.folder = folder
        self.settings = settings
        self.inputs = captured_graph.FakeInputs(capture, dynamic)
        self.outputs = 0
        self.metadata = None
        self.tangents = []
        self.forward = self.backward = None
        self.gradients = []
        # Names of saved inputs that backward may take from the caller.
        self.reusable = set()

    def run(self, graph):
        if self.capture.update is not None:
            graph = whole_step.compose(graph, self.capture, self.inputs)
            dump(self.settings, "step", graph)
        self.outputs = len(graph_edits.output_of(graph).args[0])
        self._compile(graph)
        about = {"outputs": self.outputs, "saved": [], "gradients": [],
                 "tangents": [],
                 "nodes": {"forward": self.forward.nodes},
                 "seconds": {"forward": self.forward.seconds}}
        about.update(batch_size.valid(self.inputs))
        if self.capture.differentiate:
            self._describe_backward(about)
        return about

    def _compile(self, graph):
        differentiated = contextlib.nullcontext()
        if not self.capture.differentiate:
            differentiated = torch.no_grad()
        options = dict(self.settings.options)
        options.update({
            "aot_inductor.package": True,
            "cpp_wrapper": True,
            "enable_autograd_for_aot": True,
            "layout_optimization": self.settings.layout})
        with (V.set_aot_compilation(True),
              config.patch(options),
              functorch_config.patch(
                  force_non_lazy_backward_lowering=True,
                  enable_autograd_cache=False,
                  # Backward would write to what forward has kept for it: no
                  # second pass with retain_graph, and an output that shares
                  # memory with it would change.
                  donated_buffer=False,
                  # Gradients come as their memory format says, whatever the
                  # outputs' strides are: what the caller can make of any.
                  guess_tangent_strides_as_outputs=False),
              mock.patch.object(cpp_builder, "_get_torch_related_args",
                                _without_libtorch(
                                    cpp_builder._get_torch_related_args)),
              # It makes tensors of the scalars that callers pass, and takes a
              # size that is computed with for one. There are none here.
              mock.patch.object(_tensorify_python_scalars,
                                "_is_tensorify_enabled", lambda: False),
              batch_size.without_conditions(),
              torch._guards.tracing(
                  torch._guards.TracingContext(self.inputs.mode)),
              differentiated):
            try:
                compile_fx(graph, self.inputs.tensors,
                           inner_compile=self._compile_part)
            except Exception as error:
                raise _our_own(error) from error

    def _compile_part(self, module, examples, **options):
        """What compile_fx calls for forward and for backward."""
        self.metadata = torch._guards.TracingContext.get().fw_metadata
        if options.get("is_backward"):
            return self._compile_backward(module, examples, options)
        return self._compile_forward(module, examples, options)

    def _compile_forward(self, module, examples, options):
        self._check_metadata()
        # Gone once compile_fx returns.
        self.tangents = list(self.metadata.traced_tangents)
        output = graph_edits.output_of(module)
        outputs = list(output.args[0])
        names = [node.name for node in outputs]
        positions = [i for i, node in enumerate(outputs)
                     if not graph_edits.is_int(node)]
        # A package passes tensors only: see graph_edits.without_ints.
        kept = [outputs[i] for i in positions]
        output.args = (graph_edits.with_old_values(module, kept, self.outputs),)
        module.recompile()
        result, self.forward = self._lower("forward", module, examples, options)
        self.forward.outputs = [names[i] for i in positions]
        strides = [None] * len(outputs)
        for i, stride in zip(positions, self.forward.strides):
            strides[i] = stride
        # PyTorch 2.15 does so for graphs that are run at once, but not for
        # packages: without it backward is compiled for the strides of the
        # traced activations, which are not those that forward returns.
        set_tracing_context_output_strides(
            examples, types.SimpleNamespace(output_strides=strides))
        self._find_reusable(module)
        return result

    def _check_metadata(self):
        aliased = [i for i, info in enumerate(self.metadata.output_info)
                   if info.output_type not in (OutputType.non_alias,
                                               OutputType.unsafe_view_alias)]
        if aliased:
            raise AliasedOutputs(aliased)
        if self.metadata.num_mutated_inp_runtime_indices:
            raise CompileError("unsupported", "the graph writes to an input in "
                               "a way that is left to Python")

    def _find_reusable(self, module):
        """Saved inputs whose strides forward does not change.

        Forward returns a saved input too, perhaps in another layout, and
        backward is compiled for what forward returns.
        """
        strides = dict(zip(self.forward.outputs, self.forward.strides))
        for node in graph_edits.inputs_of(module):
            value = node.meta.get("val")
            if node.name in strides and isinstance(value, torch.Tensor):
                own = tuple(map(str, value.stride()))
                if own == tuple(map(str, strides[node.name])):
                    self.reusable.add(node.name)
        self.reusable -= graph_edits.overwritten(module)

    def _compile_backward(self, module, examples, options):
        examples = graph_edits.without_ints(module, examples, options)
        output = graph_edits.output_of(module)
        outputs = list(output.args[0])
        # No gradient, no output: a package has no None.
        self.gradients = [i for i, node in enumerate(outputs)
                          if node is not None]
        kept = [outputs[i] for i in self.gradients]
        output.args = (kept,)
        output.meta["user_visible_output_idxs"] = list(range(len(kept)))
        module.recompile()
        result, self.backward = self._lower("backward", module, examples,
                                            options)
        return result

    def _lower(self, which, module, examples, options):
        begin = time.monotonic()
        dump(self.settings, which, module)
        part = Part(inputs=[node.name
                            for node in graph_edits.inputs_of(module)],
                    outputs=[node.name for node
                             in graph_edits.output_of(module).args[0]],
                    nodes=sum(node.op == "call_function"
                              for node in module.graph.nodes),
                    seconds=0, strides=[])
        generate = GraphLowering.codegen_with_cpp_wrapper

        def note_strides(lowering):
            part.strides = [_stride(node) for node in lowering.graph_outputs]
            if which == "forward" and self.settings.layout:
                _check_layout(lowering)
            return generate(lowering)

        with (config.patch(enable_autograd_for_aot=False),
              mock.patch.object(GraphLowering, "codegen_with_cpp_wrapper",
                                note_strides)):
            compiled = compile_fx_inner(module, examples, **options)
        self._unpack(which, compiled.filename)
        part.seconds = time.monotonic() - begin
        return _NotRun(filename=compiled.filename,
                       device_type=compiled.device_type), part

    def _unpack(self, which, files):
        """The code as a folder: an archive is unpacked into /tmp to be loaded,
        and stays there if the trainer is killed."""
        archive = os.path.join(self.folder, which + ".pt2")
        package_aoti(archive, files)
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(self.folder,
                              [name for name in packed.namelist()
                               if not name.endswith(".cpp")])
        os.remove(archive)

    def _describe_backward(self, about):
        if self.backward is None:
            raise CompileError("unsupported",
                               "no output of the graph depends on a parameter")
        differentiable = [i for i, info in enumerate(self.metadata.output_info)
                          if info.requires_grad_for_backward]
        saved = self.backward.inputs[:-len(differentiable)]
        tangents = self.backward.inputs[len(saved):]
        if not all(name.startswith("tangents") for name in tangents):
            raise CompileError("compile", "backward takes %s where gradients "
                               "were expected" % tangents)
        about["saved"] = [self._source(name) for name in saved]
        about["gradients"] = self.gradients
        about["tangents"] = [
            {"output": i, "memory_format": _memory_format(tensor)}
            for i, tensor in zip(differentiable, self.tangents)]
        about["nodes"]["backward"] = self.backward.nodes
        about["seconds"]["backward"] = self.backward.seconds

    def _source(self, name):
        if name in self.reusable:
            return self.forward.inputs.index(name)
        return -1 - self.forward.outputs.index(name)


def _our_own(error):
    """The error of ours that PyTorch has wrapped in its own, or `error`."""
    cause = error
    while cause is not None:
        if isinstance(cause, (CompileError, AliasedOutputs,
                              batch_size.CannotVary)):
            return cause
        cause = cause.__cause__ or cause.__context__
    return error


class _NotRun(CompiledAOTI):
    """Stands for a package where compile_fx expects a function."""

    def __post_init__(self):
        self._boxed_call = True

    def post_compile(self, *_, **__):
        pass


def _without_libtorch(related_args):
    """Links packages against the libraries that trainers have.

    libtorch.so holds nothing itself, but needs the CUDA half of LibTorch.
    """

    def patched(*args, **kwargs):
        includes, folders, libraries = related_args(*args, **kwargs)
        return includes, folders, ["c10" if library == "torch" else library
                                   for library in libraries]
    return patched


def _check_layout(lowering):
    if not lowering.layout_opt:
        raise CompileError("unsupported",
                           "other memory layouts do not help this graph")






def _memory_format(tensor):
    for name in ("contiguous_format", "channels_last", "channels_last_3d"):
        dimensions = {"channels_last": 4, "channels_last_3d": 5}.get(name)
        if dimensions in (None, tensor.dim()) and tensor.is_contiguous(
                memory_format=getattr(torch, name)):
            return name.removesuffix("_format")
    raise CompileError("compile", "a gradient is expected with strides %s"
                       % (tensor.stride(),))


def _stride(node):
    if not isinstance(node, IRNode) or not node.has_tensor_output():
        return None
    printer = SymExprPrinter()
    return tuple(printer.doprint(e) for e in node.get_layout().stride)





def dump(settings, name, module):
    if settings.debug_dir:
        path = os.path.join(settings.debug_dir, name + ".txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(module.print_readable(print_output=False))
