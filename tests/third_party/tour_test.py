"""Runs the commands of the section "Your first plugin" of plugins/README.md.

Every block of shell is run as it stands, in the folder in which the one before
it ended, in a home of its own. Only `./bazelw run` is a stand-in: the Bazel that
runs this test holds the workspace, and has built what the stand-in runs.
"""
import os
import re
import shutil
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from prefix import run, sanitizers  # pylint: disable=C0413

SECTION = r"\n## Your first plugin\n(.*?)\n## "
BLOCK = r"\n```sh\n(.*?\n)```\n"
PROGRAMS = {"//:install": "plugins/install/install.py",
            "//plugins:new": "plugins/template/new.py"}
STAND_IN = """#!/bin/sh
# ./bazelw run LABEL -- ARGUMENTS
label=$2
shift 3
case $label in
%s
esac
"""


def blocks():
    with open("plugins/README.md", encoding="utf-8") as file:
        section = re.search(SECTION, file.read(), re.S).group(1)
    return re.findall(BLOCK, section, re.S)


class Tour(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.home)
        self.folder = os.path.join(self.home, "repository")
        os.mkdir(self.folder)
        cases = ["%s) exec '%s' -B '%s' \"$@\" ;;"
                 % (label, sys.executable, os.path.abspath(path))
                 for label, path in PROGRAMS.items()]
        bazelw = os.path.join(self.folder, "bazelw")
        with open(bazelw, "w", encoding="utf-8") as file:
            file.write(STAND_IN % "\n".join(cases))
        os.chmod(bazelw, 0o755)
        # Its server must not outlive the test, nor wait for hours if it does.
        with open(os.path.join(self.home, ".bazelrc"), "w",
                  encoding="utf-8") as file:
            file.write("startup --max_idle_secs=60\n"
                       "common --noshow_progress --curses=no --color=no\n")
            for flag in sanitizers("trainer/trainer"):
                file.write("build --copt=%s --linkopt=%s\n" % (flag, flag))
        self.addCleanup(self.stop_bazel)

    def stop_bazel(self):
        folder = os.path.join(self.home, "foo")
        if os.path.isdir(folder):
            run(["bazel", "shutdown"], folder, HOME=self.home,
                USER="tour")
        # Bazel takes the right to write from what it built.
        run(["chmod", "-R", "u+w", self.home], self.folder)

    def execute(self, block):
        where = os.path.join(self.home, "where")
        code, output = run(
            ["bash", "-e", "-c", "trap 'pwd >%s' EXIT\n%s" % (where, block)],
            self.folder, HOME=self.home, USER="tour")
        with open(where, encoding="utf-8") as file:
            self.folder = file.read().strip()
        return code, output

    def test_leads_from_a_skeleton_to_a_training_and_a_conflict(self):
        begin = time.monotonic()
        told = []
        commands = blocks()
        for block in commands:
            seconds = time.monotonic()
            code, output = self.execute(block)
            print("%4.0f s  %s" % (time.monotonic() - seconds,
                                   block.split("\n", maxsplit=1)[0]))
            told.append(output)
            last = len(told) == len(commands)
            self.assertEqual(code, 2 if last else 0, block + output)
        self.assertLess(time.monotonic() - begin, 600)

        tests = [text for text in told if "//:foo_test" in text]
        self.assertEqual(len(tests), 2)
        for text in tests:
            self.assertRegex(text, r"//:foo_test +PASSED")
            self.assertRegex(text, r"//:conformance_test +PASSED")
        self.assertIn("done: 1 epochs, 23 steps", told[-2])
        self.assertIn('"eval_weights" is claimed by com.acme.foo and by ema',
                      told[-1])


if __name__ == "__main__":
    unittest.main()
