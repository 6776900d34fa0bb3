"""The house style's checks: each takes the tree and yields what is wrong.

A finding is one line, `path:line: what was found, what is wanted`.
"""
import ast
import re
import subprocess

from functions import function_lengths
from tree import CPP

# The folders are the rooms of the code map in README.md; the other names are
# those that Bazel insists on.
ROOMS = ["launcher", "plugins", "recipes", "tests", "third_party", "trainer"]
ROOT_NAMES = ROOMS + ["BUILD", "MODULE.bazel", "README.md", "WORKSPACE",
                      "WORKSPACE.bzlmod", "bazelw", "tools"]

FILE_LINES = 600
README_LINES = 160
FUNCTION_LINES = 60
# A test may hold a table.
TEST_FUNCTION_LINES = 100
MEAN_FUNCTION_LINES = 11
LONG_FUNCTION_LINES = 28  # of which there may be one in ten
HEADER_COMMENTS = 0.28

CODE = CPP + (".bzl", ".py", ".sh")


def root_names(tree):
    for name in tree.top_level():
        if name not in ROOT_NAMES and not name.startswith("."):
            yield ("%s:1: the root has only %s; give it a place in one of them"
                   % (name, ", ".join(ROOT_NAMES)))


def readmes(tree):
    for path in ["README.md"] + [room + "/README.md" for room in ROOMS]:
        if path not in tree.files():
            yield "%s:1: missing; every room tells what it is for" % path
    for path in tree.files("README.md"):
        lines = len(tree.lines(path))
        if lines > README_LINES:
            yield ("%s:%d: %d lines, at most %d"
                   % (path, README_LINES + 1, lines, README_LINES))


def file_lengths(tree):
    for path in tree.files(*CODE):
        lines = len(tree.lines(path))
        if lines > FILE_LINES:
            yield ("%s:%d: %d lines, at most %d; split it by what it is about"
                   % (path, FILE_LINES + 1, lines, FILE_LINES))


def function_lengths_of_each(tree):
    for path in tree.files(*CPP, ".py"):
        limit = (TEST_FUNCTION_LINES if is_test(path) else FUNCTION_LINES)
        for line, lines in lengths(tree, path):
            if lines > limit:
                yield ("%s:%d: a function of %d lines, at most %d"
                       % (path, line, lines, limit))


def function_lengths_of_all(tree):
    found = sorted(lines for path in tree.files(*CPP) if not is_test(path)
                   for _, lines in lengths(tree, path))
    if not found:
        return
    mean = sum(found) / len(found)
    if mean > MEAN_FUNCTION_LINES:
        yield (".:1: functions have %.1f lines in the mean, at most %d"
               % (mean, MEAN_FUNCTION_LINES))
    ninth = found[len(found) * 9 // 10]
    if ninth > LONG_FUNCTION_LINES:
        yield (".:1: one function in ten has %d lines or more, at most %d"
               % (ninth, LONG_FUNCTION_LINES))


def is_test(path):
    return path.startswith("tests/") or "_test." in path


def lengths(tree, path):
    if not path.endswith(".py"):
        return function_lengths(tree.text(path))
    return [(node.lineno, node.end_lineno - node.lineno)
            for node in ast.walk(ast.parse(tree.text(path)))
            if isinstance(node, ast.FunctionDef)]


def header_comments(tree):
    lines = [line.strip() for path in tree.files(".h")
             for line in tree.lines(path) if line.strip()]
    comments = sum(line.startswith("//") for line in lines)
    if comments < HEADER_COMMENTS * len(lines):
        yield (".:1: %.0f %% of the headers' lines are comments, at least "
               "%.0f %%: headers are the manual"
               % (100 * comments / len(lines), 100 * HEADER_COMMENTS))


def ray_references(tree):
    """ray-cpp's ObjectRef(ObjectRef&&) forgets the object's owner, and a later
    reply ends the process: a reference is const, so that it is copied."""
    for path in tree.files(*CPP):
        for number, line in enumerate(tree.lines(path), 1):
            code = line.split("//")[0]
            for found in re.finditer(r"\bray::ObjectRef<", code):
                before = code[:found.start()].rstrip()
                if not before.endswith(("const", "vector<")):
                    yield ("%s:%d: a ray::ObjectRef that can be moved from; "
                           "make it const" % (path, number))


class Format:
    """clang-format's opinion of the C++; it needs the program's path."""

    def __init__(self, clang_format):
        self.clang_format = clang_format

    def __call__(self, tree):
        output = self.run(tree, "--dry-run", "--Werror")
        seen = set()
        for path, line in re.findall(r"^(\S+?):(\d+):\d+: error", output, re.M):
            if path not in seen:
                seen.add(path)
                yield ("%s:%s: not as clang-format has it; "
                       "`./bazelw run //tests/lint -- --fix` rewrites it"
                       % (path, line))

    def fix(self, tree):
        self.run(tree, "-i")

    def run(self, tree, *flags):
        paths = tree.files(*CPP)
        if not paths:
            return ""
        # Two processes at a time, each with some of the files.
        parts = [paths[i::2] for i in range(2) if paths[i::2]]
        running = [subprocess.Popen([self.clang_format, *flags, *part],
                                    cwd=tree.root, stderr=subprocess.PIPE,
                                    text=True) for part in parts]
        outputs = [process.communicate()[1] for process in running]
        for process, output in zip(running, outputs):
            if process.returncode not in (0, 1) or "No such file" in output:
                raise OSError("%s failed: %s" % (self.clang_format, output))
        return "".join(outputs)


CHECKS = [
    root_names,
    readmes,
    file_lengths,
    function_lengths_of_each,
    function_lengths_of_all,
    header_comments,
    ray_references,
]


def findings(tree, checks):
    """Everything that any of the checks finds."""
    return [finding for check in checks for finding in check(tree)]

