#!/usr/bin/env python3
"""Holds the tree to the house style.

    ./bazelw test //tests/lint              what is wrong, as path:line
    ./bazelw run //tests/lint -- --fix      formats the C++

It reads the work tree itself, not copies that Bazel made, so that no file can
be forgotten; Bazel therefore never takes its result from the cache.
"""
import argparse
import os
import sys

import checks
from tree import Tree, repository_root


def main():
    parser = argparse.ArgumentParser(description="Checks the house style.")
    parser.add_argument("--clang_format", required=True)
    parser.add_argument("--fix", action="store_true")
    options = parser.parse_args()

    tree = Tree(repository_root())
    formatting = checks.Format(os.path.abspath(options.clang_format))
    if options.fix:
        formatting.fix(tree)
        return 0
    found = checks.findings(tree, checks.CHECKS + [formatting])
    for finding in found:
        print(finding)
    print("%d files, %d findings" % (len(tree.files()), len(found)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
