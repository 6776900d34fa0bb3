"""What run_compiler.py says where something is missing. Nothing is fetched."""
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
PROGRAM = os.path.join(PROGRAMS, "run_compiler.py")
sys.path.insert(0, PROGRAMS)
import with_pytorch  # noqa: E402


class RunCompilerTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tools = os.path.join(self.folder.name, "tools")
        os.mkdir(self.tools)

    def add_tool(self, name, text):
        path = os.path.join(self.tools, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, stat.S_IRWXU)

    def run_compiler(self, **environment):
        """Runs it with a PATH of our own tools; returns its error."""
        variables = {"PATH": self.tools, "HOME": self.folder.name,
                     "SLIPWAY_CACHE": os.path.join(self.folder.name, "cache"),
                     "PIP_NO_INDEX": "1", "LANG": "C.UTF-8"}
        variables.update(environment)
        result = subprocess.run(
            [sys.executable, PROGRAM, "--setup"], text=True, check=False,
            capture_output=True, env=variables)
        self.assertEqual(result.returncode, 4, result.stderr)
        return json.loads(result.stderr.strip().split("\n")[-1])

    def test_says_that_there_is_no_compiler(self):
        self.assertEqual(self.run_compiler(), {
            "error": "environment",
            "message": "there is no C++ compiler: g++ is not on the PATH",
            "hint": "install g++; then: bazel run //plugins/compile:setup"})

    def test_names_the_compiler_that_was_chosen(self):
        self.assertIn("clang++-99 is not on the PATH",
                      self.run_compiler(CXX="clang++-99")["message"])

    def test_says_that_pytorch_cannot_be_fetched(self):
        self.add_tool("g++", "#!/bin/sh\n")
        self.add_tool("python3.11", "#!/bin/sh\n")
        error = self.run_compiler()
        self.assertEqual(
            (error["error"], error["message"]),
            ("environment",
             "PyTorch for Python is not there and cannot be fetched"))
        self.assertIn("bazel run //plugins/compile:setup", error["hint"])

    def test_says_which_python_it_needs(self):
        with mock.patch.object(with_pytorch, "PYTHON_VERSION", (3, 99)):
            with self.assertRaises(with_pytorch.Missing) as raised:
                with_pytorch.interpreter()
        self.assertEqual(
            raised.exception.message,
            "PyTorch's wheels are for Python 3.99, this is %d.%d"
            % sys.version_info[:2])
        self.assertEqual(raised.exception.hint,
                         "install Python 3.99, or name it in $PYTHON")

    def test_takes_the_python_that_it_needs_from_the_path(self):
        self.add_tool("python3.99", "#!/bin/sh\n")
        with mock.patch.object(with_pytorch, "PYTHON_VERSION", (3, 99)):
            with mock.patch.dict(os.environ, PATH=self.tools):
                self.assertEqual(with_pytorch.interpreter(),
                                 os.path.join(self.tools, "python3.99"))

    def test_makes_stand_ins_once(self):
        folder = os.path.join(self.folder.name, "stubs")
        self.assertEqual(with_pytorch.stand_ins(folder), folder)
        self.assertLessEqual(set(with_pytorch.STAND_INS),
                             set(os.listdir(folder)))
        with mock.patch.object(subprocess, "check_call") as call:
            with_pytorch.stand_ins(folder)
        call.assert_not_called()
        self.assertEqual(sorted(os.listdir(self.folder.name)),
                         ["stubs", "tools"])


if __name__ == "__main__":
    unittest.main()
