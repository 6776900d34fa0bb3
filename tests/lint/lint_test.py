"""Shows of each check that it can fail, and that it passes good trees."""
import os
import sys
import tempfile
import unittest

import checks
from functions import function_lengths
from tree import Tree

CLANG_FORMAT = os.path.abspath(sys.argv.pop())

GOOD_HEADER = """\
#pragma once

// Adds: the manual of this header.
int Add(int a, int b);
"""

GOOD_SOURCE = """\
#include "trainer/add.h"

int Add(int a, int b) { return a + b; }
"""


def good_tree():
    files = {room + "/README.md": "# Room\n" for room in checks.ROOMS}
    files.update({"README.md": "# Slipway\n", "WORKSPACE": "",
                  "trainer/add.h": GOOD_HEADER, "trainer/add.cc": GOOD_SOURCE,
                  ".clang-format": "BasedOnStyle: Google\n"})
    return files


def function_of(lines):
    return "int F() {\n" + "  G();\n" * (lines - 2) + "}\n"


class LintTest(unittest.TestCase):

    def found(self, **changes):
        """The findings in a good tree after changes of some files."""
        return self.found_in({**good_tree(), **changes})

    def found_in(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for path, text in files.items():
            path = os.path.join(folder.name, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        self.tree = Tree(folder.name)
        return checks.findings(self.tree,
                               checks.CHECKS + [checks.Format(CLANG_FORMAT)])

    def assert_found(self, expected, **changes):
        found = self.found(**changes)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(expected), found)

    def test_a_good_tree_passes(self):
        self.assertEqual(self.found(), [])

    def test_names_at_the_root(self):
        self.assert_found("notes.txt:1: the root has only launcher, plugins",
                          **{"notes.txt": ""})

    def test_what_tools_leave_behind_is_no_file_of_ours(self):
        self.assertEqual(self.found(**{
            "bazel-bin/a.cc": "x", ".git/b.cc": "x", "coverage.info": "x",
            "checkpoints/run/README.md": "\n" * 1000}), [])

    def test_missing_readmes(self):
        files = good_tree()
        del files["README.md"], files["plugins/README.md"]
        self.assertEqual(
            [finding.split(";")[0] for finding in self.found_in(files)],
            ["README.md:1: missing", "plugins/README.md:1: missing"])

    def test_long_readmes(self):
        self.assertEqual(self.found(**{"README.md": "\n" * 160}), [])
        self.assert_found("README.md:161: 161 lines, at most 160",
                          **{"README.md": "\n" * 161})

    def test_long_files(self):
        self.assertEqual(self.found(**{"tools/a.sh": "\n" * 600}), [])
        self.assert_found("tools/a.sh:601: 601 lines, at most 600",
                          **{"tools/a.sh": "\n" * 601})

    def test_a_long_function(self):
        short = "".join("int F%d() { return 0; }\n" % i for i in range(20))
        changes = {"trainer/add.cc": GOOD_SOURCE + "\n" + short}
        self.assertEqual(self.found(**changes), [])
        long = changes["trainer/add.cc"] + function_of(61)
        self.assert_found("trainer/add.cc:25: a function of 61 lines, at most",
                          **{"trainer/add.cc": long})
        self.assertEqual(
            self.found(**{"trainer/a_test.cc": function_of(100)}), [])
        self.assert_found("trainer/a_test.cc:1: a function of 101 lines",
                          **{"trainer/a_test.cc": function_of(101)})

    def test_long_functions_in_python(self):
        body = "def f():\n" + "    pass\n" * 61
        self.assert_found("tools/a.py:1: a function of 61 lines",
                          **{"tools/a.py": body})

    def test_functions_that_are_long_on_the_whole(self):
        found = self.found(**{"trainer/b.cc": function_of(29)})
        self.assertEqual(
            [finding[:40] for finding in found],
            [".:1: functions have 15.0 lines in the me",
             ".:1: one function in ten has 29 lines or"])

    def test_headers_without_comments(self):
        self.assert_found(
            ".:1: 0 % of the headers' lines are comments, at least 28 %",
            **{"trainer/add.h": "#pragma once\n\nint Add(int a, int b);\n"})

    def test_references_of_rays_that_can_be_moved_from(self):
        self.assert_found("trainer/ray.cc:1: a ray::ObjectRef", **{
            "trainer/ray.cc": "ray::ObjectRef<int> r = F();\n"
                              "const ray::ObjectRef<int> s = F();\n"})

    def test_format(self):
        bad = {"trainer/add.cc": GOOD_SOURCE.replace("a + b", "a+b")}
        self.assert_found("trainer/add.cc:3: not as clang-format has it", **bad)
        checks.Format(CLANG_FORMAT).fix(self.tree)
        self.assertEqual(Tree(self.tree.root).text("trainer/add.cc"),
                         GOOD_SOURCE)

    def test_a_formatter_that_fails_is_an_error(self):
        self.found()
        with self.assertRaises(OSError):
            list(checks.Format("/bin/false/no")(self.tree))


class FunctionLengthsTest(unittest.TestCase):

    CASES = [
        ("int F() { return 0; }", [(1, 1)]),
        ("int F();\nint G();", []),
        ("namespace a {\nclass B {\n  int F() {\n    return 0;\n  }\n};\n}",
         [(3, 3)]),
        ("B::B() : a_{1}, b_{G({2})} {\n  G();\n}", [(1, 3)]),
        ("const int kTable[] = {\n    F(1),\n    2,\n};", []),
        ("struct A {\n  int a{F(1)};\n  int b = 1;\n};", []),
        ("void F(A a = {}) {\n  if (a) {\n  }\n}", [(1, 4)]),
        ("int F() {\n  // {\n  G(\"{\", '{', R\"(\n{{)\");\n}\n#define A {\n"
         "int H() {\n}", [(1, 5), (7, 2)]),
        ("enum class E : int { kA, kB };\nint F() {\n}", [(2, 2)]),
        ("extern \"C\" {\nint F() {\n}\n}", [(2, 2)]),
        ("extern \"C\" int F(int a) {\n}", [(1, 2)]),
        ("template <typename T>\nclass A {\n  T F() const {\n  }\n};",
         [(3, 2)]),
        ("TEST(A, DoesB) {\n  auto f = [](int a) {\n    return a;\n  };\n}",
         [(1, 5)]),
    ]

    def test_finds_each_function(self):
        for text, expected in self.CASES:
            with self.subTest(text):
                self.assertEqual(function_lengths(text), expected)


if __name__ == "__main__":
    unittest.main()
