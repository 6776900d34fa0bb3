"""Which headers are compiled alone, and what is found where one cannot be."""
import os
import tempfile
import unittest

import headers
from tree import Tree

FILES = {
    "a/proved.h": "#pragma once\n",
    "a/proved.cc": '// About this.\n#include "a/proved.h"\n\n'
                   '#include "a/second.h"\n',
    "a/second.h": '#pragma once\n#include "a/proved.h"\n',
    "a/tensor.h": "#include <c10/core/Device.h>\n",
    "a/indirect.h": '#include "a/second.h"\n#include "a/tensor.h"\n',
    "a/lacks_include.h": "#pragma once\nstd::string Name();\n",
    headers.LIBRARIES: "# target package modules\n",
}


class HeadersTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for path, text in FILES.items():
            path = os.path.join(folder.name, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        self.tree = Tree(folder.name)

    def test_a_source_proves_the_header_that_it_includes_first(self):
        self.assertEqual(headers.proved(self.tree), {"a/proved.h"})

    def test_a_header_needs_libtorch_through_others_too(self):
        needing = [path for path in self.tree.files(".h")
                   if headers.needs_libtorch(self.tree, path)]
        self.assertEqual(needing, ["a/indirect.h", "a/tensor.h"])

    def test_a_header_that_compiles_alone_is_no_finding(self):
        self.assertEqual(
            headers.findings(self.tree, ["a/second.h", "a/proved.h"], []), [])

    def test_a_header_that_lacks_an_include_is_a_finding(self):
        found = headers.findings(
            self.tree, ["a/second.h", "a/lacks_include.h"], [])
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0], "^a/lacks_include.h:1: does not compile "
                                   "alone: .*a/lacks_include.h:2:\\d+: error: ")

    def test_flags_are_used(self):
        found = headers.findings(self.tree, ["proved.h"], [])
        self.assertEqual(len(found), 1)
        self.assertEqual(
            headers.findings(self.tree, ["proved.h"],
                             ["-isystem" + os.path.join(self.tree.root, "a")]),
            [])


if __name__ == "__main__":
    unittest.main()
