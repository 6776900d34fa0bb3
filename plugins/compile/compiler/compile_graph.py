#!/usr/bin/env python3
"""Compiles a graph that the trainer has captured, into packages it can load.

    compile_graph.py --capture=DIR --package=DIR
    compile_graph.py --check

Runs before training or beside it; nothing of it is needed to train. The capture
is graph.pt and graph.json (see captured_graph.py). The package appears whole or
not at all: the folders forward and, where there is one, backward, as LibTorch's
loader takes them, and package.json:

    outputs      how many of forward's outputs are the graph's; the others are
                 activations
    saved        what backward takes first: i >= 0 is the graph's input i,
                 i < 0 is forward's output -1 - i
    tangents     what backward takes then: for each, the output of which it is
                 the gradient, and its memory_format (contiguous, channels_last
                 or channels_last_3d)
    gradients    for each of backward's outputs, the input of which it is the
                 gradient
    dynamic_batch, batch_min, batch_max
                 whether the batch may have another size than the captured one,
                 and from which to which (null: any)
    torch, cpu_isa, candidate, mode, threads, nodes, seconds, files

What goes wrong is one JSON line, the last on stderr: see compile_errors.py.
"""
import time

BEGIN = time.monotonic()

import argparse  # noqa: E402
import difflib  # noqa: E402
import hashlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import shutil  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import traceback  # noqa: E402

# The modules beside this file, even where it is a link to another folder.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import process_group  # noqa: E402
from compile_errors import CompileError, leave  # noqa: E402

MODES = ["default", "reduce-overhead", "max-autotune",
         "max-autotune-no-cudagraphs"]


def main():
    process_group.end_together()
    options = parse_arguments()
    try:
        if options.check:
            check()
        else:
            write_package(options)
    except CompileError as error:
        leave(error)
    except Exception as error:  # whatever the compiler raises
        traceback.print_exc()
        leave(explained(error))


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true",
                        help="only says whether the compiler is there")
    parser.add_argument("--capture", default="")
    parser.add_argument("--package", default="")
    parser.add_argument("--candidate", choices=["plain", "layout"],
                        default="plain",
                        help="layout: memory layouts may be changed")
    parser.add_argument("--mode", choices=MODES, default="default")
    parser.add_argument("--options", type=json.loads, default={},
                        help="options of Inductor by name, as JSON")
    parser.add_argument("--threads", type=int, default=1,
                        help="of the tensor operations of the training process")
    parser.add_argument("--torch_version", default="",
                        help="LibTorch's version in the training process")
    parser.add_argument("--debug_dir", default="")
    return parser.parse_args(arguments)


def write_package(options):
    package = os.path.abspath(options.package)
    os.makedirs(os.path.dirname(package), exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=os.path.basename(package) + ".",
                                     dir=os.path.dirname(package)) as scratch:
        folder = os.path.join(scratch, "package")
        os.mkdir(folder)
        generated = os.path.join(scratch, "generated")
        about = compile_into(folder, generated, options)
        keep_generated(generated, options.debug_dir)
        finish(folder, about)
        # What a compiler that was killed has left, perhaps.
        shutil.rmtree(package, ignore_errors=True)
        # The last step, so that nobody ever sees half a package.
        os.rename(folder, package)
        sync(os.path.dirname(package))


def compile_into(folder, generated, options):
    torch = imported_torch()
    check_version(torch.__version__, options.torch_version)
    import captured_graph
    import packages
    isa = processor()
    # What is made for this graph alone does not stay.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = generated
    seconds = time.monotonic() - BEGIN
    torch.set_num_threads(options.threads)
    if options.debug_dir:
        os.makedirs(options.debug_dir, exist_ok=True)
    capture = captured_graph.read(options.capture)
    check_devices(capture)
    about = packages.compile(capture, folder, packages.Settings(
        options=inductor_options(options),
        layout=options.candidate == "layout",
        debug_dir=options.debug_dir))
    about["seconds"]["import"] = seconds
    about["seconds"]["total"] = time.monotonic() - BEGIN
    about.update({
        "schema": 1, "torch": torch.__version__, "cpu_isa": isa,
        "candidate": options.candidate, "mode": options.mode,
        "threads": options.threads})
    return about


def imported_torch():
    # The stand-ins for CUDA's libraries have no functions.
    sys.setdlopenflags(os.RTLD_LAZY)
    try:
        import torch
    except ImportError as error:
        raise CompileError("environment", "PyTorch cannot be imported: %s"
                           % error, "bazel run //plugins/compile:setup")
    return torch


def processor():
    """The vector instructions that generated code will use."""
    # It compiles a program for each, and keeps those it has compiled.
    from torch._inductor.cpu_vec_isa import pick_vec_isa
    return str(pick_vec_isa())


def check():
    version = imported_torch().__version__
    print("PyTorch %s is there and compiles for %s" % (version, processor()))


def check_version(found, wanted):
    # "2.15.0+cu132" is 2.15.0 for a certain device, which matters little here.
    if wanted and found.split("+")[0] != wanted.split("+")[0]:
        raise CompileError(
            "environment", "the trainer has LibTorch %s, the compiler PyTorch "
            "%s" % (wanted, found), "unset LIBTORCH_DIR and build again")


def check_devices(capture):
    import torch
    devices = sorted({about["device"].split(":")[0]
                      for about in capture.inputs})
    if devices == ["cuda"] and not torch.cuda.is_available():
        raise CompileError("environment", "graphs for a GPU need NVIDIA's "
                           "libraries, and the compiler has only stand-ins",
                           "train eagerly, or with device=cpu")
    if len(devices) > 1:
        raise CompileError("unsupported", "the graph has tensors on %s"
                           % " and ".join(devices))


def inductor_options(options):
    from torch._inductor import config, list_mode_options
    known = config.get_config_copy()
    chosen = dict(list_mode_options(options.mode))
    for name, value in options.options.items():
        name = name.replace("-", "_")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise CompileError(
                "unsupported", "the compiler has no option \"%s\"" % name,
                "did you mean \"%s\"?" % near[0] if near else "")
        chosen[name] = value
    # CUDA graphs are made by the trainer around packages, not inside them.
    chosen.pop("triton.cudagraphs", None)
    # Worker processes would outlive us; the code is for so many threads.
    # Random numbers as eager draws them, so that dropout can be compared with it.
    chosen.update({"compile_threads": 1, "cpp.threads": options.threads,
                   "fallback_random": True})
    return chosen


def explained(error):
    """What the compiler raised, as a CompileError."""
    from torch._inductor import exc
    first = str(error).strip().split("\n")[0] or type(error).__name__
    if isinstance(error, exc.InvalidCxxCompiler):
        return CompileError("environment", "no C++ compiler was found",
                            "install g++, or name one in $CXX")
    if isinstance(error, exc.CppCompileError):
        return CompileError("compile", "g++ refuses the generated code",
                            "set plugins.compile.debug_dir and report it")
    return CompileError("compile", "%s: %s" % (type(error).__name__, first))


def keep_generated(generated, debug_dir):
    if not debug_dir:
        return
    for folder, _, names in os.walk(generated):
        for name in names:
            if name.endswith((".cpp", ".py")):
                shutil.copy(os.path.join(folder, name), debug_dir)


def finish(folder, about):
    about["files"] = {}
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            about["files"][os.path.relpath(path, folder)] = {
                "bytes": os.path.getsize(path), "sha256": digest}
            sync(path)
        sync(parent)
    path = os.path.join(folder, "package.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(about, file, indent=1)
        file.write("\n")
    sync(path)
    sync(folder)


def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


if __name__ == "__main__":
    main()
