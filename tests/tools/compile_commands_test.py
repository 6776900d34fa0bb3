"""What becomes of one compilation that Bazel plans."""
import unittest

from compile_commands import ROOT, compile_command


class CompileCommandTest(unittest.TestCase):

    def test_names_our_source_and_keeps_its_flags(self):
        arguments = ["/usr/bin/gcc", "-Wall", "-std=c++20", "-iquote", ".",
                     "-c", "trainer/a.cc", "-o", "bazel-out/a.o"]
        self.assertEqual(compile_command(arguments, "/execution"), {
            "directory": "/execution",
            "file": ROOT + "/trainer/a.cc",
            "arguments": arguments,
        })

    def test_leaves_out_flags_that_clang_does_not_know(self):
        arguments = ["gcc", "-fno-canonical-system-headers", "-c", "a.cc"]
        self.assertEqual(compile_command(arguments, "/")["arguments"],
                         ["gcc", "-c", "a.cc"])

    def test_leaves_out_sources_that_are_not_ours(self):
        for source in ["external/x/a.cc", "bazel-out/k8-opt/bin/a.cc"]:
            self.assertIsNone(compile_command(["gcc", "-c", source], "/"))


if __name__ == "__main__":
    unittest.main()
