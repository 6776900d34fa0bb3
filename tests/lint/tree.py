"""The repository's own files, as the checks read them."""
import os
import re

# What builds, runs and tools leave behind: the same names as in .gitignore.
LEFT_BEHIND = re.compile(r"bazel-.*|checkpoints|coverage|coverage\.info|"
                         r"compile_commands\.json|__pycache__|"
                         r"\.bazelrc\.(debian.*|local)|\.git")

CPP = (".cc", ".h")


def repository_root():
    """The work tree's root: Bazel runs these scripts through links into it."""
    here = os.path.dirname(os.path.realpath(__file__))
    return os.path.dirname(os.path.dirname(here))


class Tree:
    """The files under a folder; paths are relative to it.

        tree = Tree("/home/me/slipway")
        for path in tree.files(".h"):
            print(path, len(tree.lines(path)))
    """

    def __init__(self, root):
        self.root = root
        self._texts = {}
        self._paths = sorted(self._walk())

    def _walk(self):
        for folder, folders, files in os.walk(self.root):
            folders[:] = [f for f in folders if not LEFT_BEHIND.fullmatch(f)]
            for file in files:
                if not LEFT_BEHIND.fullmatch(file):
                    path = os.path.join(folder, file)
                    yield os.path.relpath(path, self.root)

    def files(self, *suffixes):
        """The paths that end in one of the suffixes; all without any."""
        return [p for p in self._paths if not suffixes or p.endswith(suffixes)]

    def top_level(self):
        """The names at the root."""
        return sorted({path.split(os.sep)[0] for path in self._paths})

    def text(self, path):
        if path not in self._texts:
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                self._texts[path] = file.read()
        return self._texts[path]

    def lines(self, path):
        return self.text(path).splitlines()
