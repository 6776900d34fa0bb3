#!/usr/bin/env python3
"""Compiles a captured graph with PyTorch's compiler, which it fetches once.

    run_compiler.py --capture=DIR --package=DIR ...
    run_compiler.py --setup

The arguments are compile_graph.py's. With --setup nothing is compiled: PyTorch
is fetched, and tried. What is missing is told as compile_graph.py tells errors:
as one JSON line, the last on stderr.
"""
import os
import sys

# The folder of this file may not be ours to write to, or be a link's.
sys.dont_write_bytecode = True
FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
import compile_errors  # noqa: E402
import process_group  # noqa: E402
import with_pytorch  # noqa: E402


def main():
    process_group.end_together()
    arguments = ["--check" if argument == "--setup" else argument
                 for argument in sys.argv[1:]]
    try:
        with_pytorch.compiler()
        python = with_pytorch.interpreter()
        variables = with_pytorch.environment()
    except with_pytorch.Missing as error:
        hint = error.hint + "; then: bazel run //plugins/compile:setup"
        compile_errors.leave(
            compile_errors.CompileError("environment", error.message, hint))
    # Where the compiler remembers what this machine's processor can do.
    variables["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(with_pytorch.cache(),
                                                        "inductor")
    program = os.path.join(FOLDER, "compile_graph.py")
    os.execve(python, [python, program] + arguments,
              dict(os.environ, **variables))


if __name__ == "__main__":
    main()
