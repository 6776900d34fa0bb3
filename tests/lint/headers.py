#!/usr/bin/env python3
"""Every header compiles alone: headers.py [--libtorch] --include=PATH...

A header that some source includes before all others has proved it by compiling
with that source, which is most of them. The others are compiled here: with
--libtorch those that need LibTorch, which takes seconds each, else the rest.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

from tree import Tree, repository_root

LIBRARIES = "third_party/system/libraries.txt"


def includes(tree, path):
    return re.findall(r'^#include [<"](.*)[>"]', tree.text(path), re.M)


def proved(tree):
    """The headers that some source includes first."""
    return {header for path in tree.files(".cc")
            for header in includes(tree, path)[:1]}


def needs_libtorch(tree, header):
    """Whether it includes LibTorch, itself or through headers of ours."""
    seen = set()
    pending = [header]
    while pending:
        path = pending.pop()
        if path.startswith(("ATen/", "c10/", "torch/")):
            return True
        if path in tree.files() and path not in seen:
            seen.add(path)
            pending += includes(tree, path)
    return False


def system_flags(tree):
    """Where the machine's libraries have their headers."""
    modules = [word for line in tree.lines(LIBRARIES)
               if not line.startswith("#") for word in line.split()[2:]]
    return subprocess.run(["pkg-config", "--cflags", *modules], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.split()


def finding(tree, header, flags):
    """What the compiler says first about a header alone; None if nothing."""
    result = subprocess.run(
        ["g++", "-std=c++20", "-fsyntax-only", "-I.", *flags, "-x", "c++", "-"],
        input='#include "%s"\n' % header, stderr=subprocess.PIPE, text=True,
        cwd=tree.root, check=False)
    if result.returncode == 0:
        return None
    errors = re.findall(r"^(.*error: .*)$", result.stderr, re.M)
    return "%s:1: does not compile alone: %s" % (
        header, errors[0] if errors else result.stderr.strip())


def folder(path):
    """The folder that a path names, or in which the file lies that it names."""
    path = os.path.abspath(path)
    return path if os.path.isdir(path) else os.path.dirname(path)


def findings(tree, headers, flags):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda h: finding(tree, h, flags), headers)
    return [result for result in results if result]


def main():
    parser = argparse.ArgumentParser(description="Compiles headers alone.")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--libtorch", action="store_true")
    options = parser.parse_args()

    tree = Tree(repository_root())
    headers = [header for header in sorted(set(tree.files(".h")) - proved(tree))
               if needs_libtorch(tree, header) == options.libtorch]
    flags = ["-isystem" + folder(path) for path in options.include]
    found = findings(tree, headers, flags + system_flags(tree))
    print("\n".join(found + ["%d headers compiled, %d findings"
                             % (len(headers), len(found))]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
