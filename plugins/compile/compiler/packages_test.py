"""What the compiler makes of small nets, against PyTorch without it.

Each net costs a compilation, half a minute or more, so that a net tests several
things at once. packages_test.py NAME... runs the tests of these names.
"""
import json
import os
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(FOLDER, "programs")
sys.path.insert(0, PROGRAMS)

if "PYTHONPYCACHEPREFIX" not in os.environ:  # set by with_pytorch.py
    os.execv(sys.executable, [
        sys.executable, os.path.join(PROGRAMS, "with_pytorch.py"),
        os.path.abspath(__file__)] + sys.argv[1:])

sys.setdlopenflags(os.RTLD_LAZY)
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import compile_graph  # noqa: E402
import with_pytorch  # noqa: E402
from compile_errors import CompileError  # noqa: E402


class Graph(torch.nn.Module):
    """A function of tensors, for the tracer."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Package:
    """A package, run as the trainer runs it."""

    def __init__(self, folder):
        with open(os.path.join(folder, "package.json"),
                  encoding="utf-8") as file:
            self.about = json.load(file)
        self.forward_package = self.load(os.path.join(folder, "forward"))
        backward = os.path.join(folder, "backward")
        self.backward_package = None
        if os.path.exists(backward):
            self.backward_package = self.load(backward)

    @staticmethod
    def load(path):
        return torch._C._aoti.AOTIModelPackageLoader(path, "model", False, 1,
                                                     -1)

    def forward(self, inputs):
        self.inputs = inputs
        self.results = self.forward_package.boxed_run(list(inputs))
        return self.results[:self.about["outputs"]]

    def backward(self, gradients):
        """The gradient of each input, or None."""
        arguments = [self.inputs[i] if i >= 0 else self.results[-1 - i]
                     for i in self.about["saved"]]
        for tangent in self.about["tangents"]:
            name = tangent["memory_format"]
            name += "_format" if name == "contiguous" else ""
            arguments.append(gradients[tangent["output"]].contiguous(
                memory_format=getattr(torch, name)))
        results = self.backward_package.boxed_run(arguments)
        gradients = [None] * len(self.inputs)
        for i, gradient in zip(self.about["gradients"], results):
            gradients[i] = gradient
        return gradients


class PackagesTest(unittest.TestCase):

    def setUp(self):
        torch.manual_seed(0)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(
            with_pytorch.cache(), "inductor")

    def capture(self, function, state, data, parameters=None, dynamic=False,
                differentiate=True):
        """Writes the graph of `function`; returns the folder.

        `state` are tensors, `parameters` how many are no buffers.
        """
        inputs = state + data
        if parameters is None:
            parameters = sum(tensor.requires_grad for tensor in state)
        with torch.no_grad():
            traced = torch.jit.trace(Graph(function), tuple(inputs),
                                     check_trace=False)
        folder = os.path.join(self.folder, "capture")
        os.makedirs(folder, exist_ok=True)
        traced.save(os.path.join(folder, "graph.pt"))
        about = {
            "schema": 1, "parameters": parameters,
            "buffers": len(state) - parameters, "state": len(state),
            "differentiate": differentiate, "dynamic": dynamic,
            "inputs": [{"name": "input%d" % i, "size": list(tensor.shape),
                        "stride": list(tensor.stride()), "device": "cpu",
                        "dtype": str(tensor.dtype).removeprefix("torch."),
                        "requires_grad": differentiate
                        and tensor.requires_grad}
                       for i, tensor in enumerate(inputs)]}
        with open(os.path.join(folder, "graph.json"), "w",
                  encoding="utf-8") as file:
            json.dump(about, file)
        return folder

    def compile(self, capture, *flags):
        package = os.path.join(self.folder, "package")
        compile_graph.write_package(compile_graph.parse_arguments(
            ["--capture=" + capture, "--package=" + package, *flags]))
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["capture", "package"])
        return Package(package)

    def check(self, package, function, state, data, tolerance=1e-5):
        """Compares outputs, gradients and buffers with those of `function`."""
        inputs = [tensor.detach().clone().requires_grad_(tensor.requires_grad)
                  for tensor in state + data]
        ours = [tensor.detach().clone() for tensor in state + data]
        outputs = function(*inputs)
        # Whatever layout they come in.
        gradients = [torch.randn_like(output).contiguous()
                     if output.requires_grad else None for output in outputs]
        torch.autograd.backward(
            [o for o in outputs if o.requires_grad],
            [gradient for gradient in gradients if gradient is not None])
        for i, (a, b) in enumerate(zip(outputs, package.forward(ours))):
            self.assert_close(a, b, tolerance, "output %d" % i)
            self.assertEqual(a.stride(), b.stride())
        computed = package.backward(gradients)
        for i, (a, b) in enumerate(zip(inputs, ours)):
            if a.requires_grad:
                self.assert_close(a.grad, computed[i], tolerance,
                                  "gradient %d" % i)
            else:
                self.assert_close(a, b, tolerance, "input %d" % i)

    def assert_close(self, a, b, tolerance, what):
        self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape), what)
        scale = max(1e-3, a.abs().max().item())
        error = (a.double() - b.double()).abs().max().item() / scale
        self.assertLess(error, tolerance, what)


def batch_norm_net(weight, second, head, mean, var, x, target):
    x = F.conv2d(x, weight, padding=1)
    x = F.silu(F.batch_norm(x, mean, var, None, None, True, 0.1, 1e-5))
    x = F.relu(F.conv2d(x, second)) + x
    loss = F.cross_entropy(x.mean((2, 3)) @ head, target)
    return (loss,)


def batch_norm_state():
    return [torch.randn(8, 3, 3, 3, requires_grad=True),
            torch.randn(8, 8, 1, 1, requires_grad=True),
            torch.randn(8, 5, requires_grad=True),
            torch.zeros(8), torch.ones(8)]


def batch(size):
    return [torch.randn(size, 3, 12, 12), torch.randint(5, (size,))]


class DynamicBatchTest(PackagesTest):

    def test_one_package_is_right_for_all_sizes(self):
        state = batch_norm_state()
        package = self.compile(
            self.capture(batch_norm_net, state, batch(40), dynamic=True))
        about = package.about
        self.assertEqual((about["dynamic_batch"], about["batch_min"],
                          about["batch_max"]), (True, 2, None))
        self.assertEqual((about["schema"], about["torch"], about["candidate"],
                          about["mode"], about["threads"]),
                         (1, torch.__version__, "plain", "default", 1))
        for size in (40, 2, 7, 70):
            self.check(package, batch_norm_net, state, batch(size))

    def test_a_number_in_the_graph_makes_it_one_size(self):
        def net(weight, x):
            return ((x @ weight).view(4, 6).sin().sum(1),)

        state = [torch.randn(3, 6, requires_grad=True)]
        data = [torch.randn(4, 3)]
        package = self.compile(self.capture(net, state, data, dynamic=True))
        self.assertEqual(package.about["dynamic_batch"], False)
        self.check(package, net, state, data)


class LayoutTest(PackagesTest):

    def test_backward_gets_the_strides_it_is_compiled_for(self):
        """Where forward returns activations, and inputs, in another layout."""
        def net(first, second, x, z):
            x = F.silu(F.conv2d(x, first)) + x.sin()
            return (F.silu(F.conv2d(x, second, padding=1)),
                    F.conv2d(z, first).sin())

        state = [torch.randn(8, 8, 1, 1, requires_grad=True),
                 torch.randn(8, 8, 3, 3, requires_grad=True)]
        data = [torch.randn(2, 8, 6, 6, requires_grad=True),
                torch.randn(2, 8, 6, 6).contiguous(
                    memory_format=torch.channels_last)]
        package = self.compile(self.capture(net, state, data),
                               "--candidate=layout")
        self.assertEqual(package.about["tangents"], [
            {"output": 0, "memory_format": "contiguous"},
            {"output": 1, "memory_format": "channels_last"}])
        self.check(package, net, state, data)

    def test_is_refused_where_there_is_nothing_to_change(self):
        def net(weight, x):
            return (x @ weight,)

        capture = self.capture(net, [torch.randn(3, 6, requires_grad=True)],
                               [torch.randn(4, 3)])
        with self.assertRaises(CompileError) as raised:
            self.compile(capture, "--candidate=layout")
        self.assertEqual(raised.exception.kind, "unsupported")


class OutputsTest(PackagesTest):

    def test_odd_graphs_are_right(self):
        """Overwritten buffers, shared memory, integers, constants."""
        table = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, 4.0]])

        def net(weight, unused, mean, x):
            scale = mean * 2
            y = (x @ weight).sin() * scale * table
            mean.add_(1)  # of which backward would compute the scale again
            return y, y.view(-1), y.argmax(1), x, y.t().exp()

        state = [torch.randn(4, 3, requires_grad=True),
                 torch.randn(2, requires_grad=True), torch.rand(3)]
        data = [torch.randn(2, 4)]
        package = self.compile(self.capture(net, state, data))
        self.assertEqual([t["output"] for t in package.about["tangents"]],
                         [0, 1, 4])
        self.assertEqual(package.about["gradients"], [0])
        state[1].requires_grad_(False)
        self.check(package, net, state, data)

    def test_an_evaluation_graph_has_no_backward(self):
        def net(weight, mean, x):
            return ((x @ weight - mean).softmax(1),)

        state = [torch.randn(4, 3), torch.rand(3)]
        data = [torch.randn(2, 4)]
        package = self.compile(self.capture(net, state, data,
                                            differentiate=False))
        self.assertIsNone(package.backward_package)
        self.assertEqual(package.about["outputs"], 1)
        self.assertTrue(all(name.startswith("forward/")
                            for name in package.about["files"]))
        self.assert_close(net(*state, *data)[0],
                          package.forward(state + data)[0], 1e-5, "output")


class PrecisionTest(PackagesTest):

    def test_casts_attention_and_dropout_on_two_threads(self):
        def net(weight, other, x):
            with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
                y = (x @ weight).view(2, 2, 8, 8)
                y = F.scaled_dot_product_attention(y, y, y)
            return y, F.dropout(other * 3, 0.5, True)

        state = [torch.randn(8, 16, requires_grad=True),
                 torch.rand(1000, requires_grad=True)]
        data = [torch.randn(16, 8)]
        debug = tempfile.TemporaryDirectory()
        self.addCleanup(debug.cleanup)
        package = self.compile(self.capture(net, state, data), "--threads=2",
                               "--debug_dir=" + debug.name)
        self.assertLessEqual({"captured.txt", "forward.txt", "backward.txt"},
                             set(os.listdir(debug.name)))
        self.check_attention(package, net, state, data)
        self.check_dropout(package, state, data)

    def check_attention(self, package, net, state, data):
        y, dropped = net(*state, *data)
        gradient = torch.randn_like(y)
        y.backward(gradient)
        result = package.forward([t.detach() for t in state + data])
        self.assert_close(y, result[0], 0.02, "attention")
        computed = package.backward([gradient, torch.zeros_like(dropped)])
        self.assert_close(state[0].grad, computed[0], 0.02, "gradient")

    def check_dropout(self, package, state, data):
        inputs = [t.detach() for t in state + data]

        def dropped(seed):
            torch.manual_seed(seed)
            return package.forward(inputs)[1]

        first = dropped(1)
        self.assertFalse(torch.equal(first, dropped(2)))
        self.assertTrue(torch.equal(first, dropped(1)))
        self.assertAlmostEqual((first != 0).float().mean().item(), 0.5,
                               delta=0.1)
        gradients = package.backward([torch.zeros(2, 2, 8, 8).bfloat16(),
                                      torch.ones(1000)])
        self.assertTrue(torch.equal(gradients[1], (first != 0) * 6.0))


class ErrorsTest(PackagesTest):

    def error(self, *flags, function=lambda w, x: (x @ w,)):
        capture = self.capture(
            function, [torch.randn(3, 2, requires_grad=True)],
            [torch.randn(4, 3)])
        with self.assertRaises(CompileError) as raised:
            self.compile(capture, *flags)
        self.assertEqual(os.listdir(self.folder), ["capture"])
        return raised.exception

    def test_names_the_option_that_was_meant(self):
        error = self.error('--options={"max_autotun": true}')
        self.assertEqual((error.kind, error.message, error.hint), (
            "unsupported", "the compiler has no option \"max_autotun\"",
            "did you mean \"max_autotune\"?"))

    def test_refuses_another_version(self):
        error = self.error("--torch_version=2.14.0")
        self.assertEqual(error.kind, "environment")
        self.assertIn("the trainer has LibTorch 2.14.0", error.message)

    def test_refuses_a_gpu_that_it_knows_nothing_of(self):
        capture = self.capture(lambda w, x: (x @ w,),
                               [torch.randn(3, 2, requires_grad=True)],
                               [torch.randn(4, 3)])
        path = os.path.join(capture, "graph.json")
        with open(path, encoding="utf-8") as file:
            text = file.read().replace('"cpu"', '"cuda:0"')
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        with self.assertRaises(CompileError) as raised:
            self.compile(capture)
        self.assertEqual(raised.exception.kind, "environment")
        self.assertIn("only stand-ins", raised.exception.message)

    def test_refuses_control_flow(self):
        @torch.jit.script
        def branch(x):
            if bool(x.sum() > 0):
                return x
            return -x

        error = self.error(function=lambda w, x: (branch(x @ w),))
        self.assertEqual(error.kind, "unsupported")
        self.assertIn("prim::If", error.message)

    def test_refuses_a_graph_without_gradients(self):
        error = self.error(function=lambda w, x: (x * 2,))
        self.assertEqual(error.kind, "unsupported")


if __name__ == "__main__":
    unittest.main()
