#!/usr/bin/env python3
"""Writes compile_commands.json for clangd: compile_commands.py [TARGET...].

Without targets it covers the whole repository. Nothing is compiled, and headers
that a build makes are found once something has been built.
"""
import json
import os
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))

# Flags of g++ which clang does not know.
GCC_ONLY = {"-fno-canonical-system-headers", "-Wno-free-nonheap-object"}


def main():
    targets = " + ".join(sys.argv[1:] or ["//..."])
    folder = bazel("info", "execution_root").strip()
    graph = json.loads(bazel("aquery", "--output=jsonproto",
                             'mnemonic("CppCompile", %s)' % targets))
    # Bazel compiles a file once for each configuration; the first will do.
    commands = {}
    for action in graph.get("actions", []):
        command = compile_command(action["arguments"], folder)
        if command:
            commands.setdefault(command["file"], command)
    with open(os.path.join(ROOT, "compile_commands.json"), "w",
              encoding="utf-8") as file:
        json.dump(list(commands.values()), file, indent=1)
    print("compile_commands.json: %d files" % len(commands))


def bazel(command, *arguments):
    return subprocess.run(
        [os.path.join(ROOT, "bazelw"), command, "--noshow_progress",
         *arguments],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def compile_command(arguments, folder):
    """The entry for one compilation, or None where the source is not ours."""
    source = arguments[arguments.index("-c") + 1]
    if source.startswith(("external/", "bazel-out/")):
        return None
    return {
        "directory": folder,
        "file": os.path.join(ROOT, source),
        "arguments": [word for word in arguments if word not in GCC_ONLY],
    }


if __name__ == "__main__":
    main()
