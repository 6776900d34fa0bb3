"""Every way in which a run of `bazel test` may end is counted."""
import contextlib
import io
import os
import tempfile
import unittest

import test_summary

PASSED = """\
INFO: Build completed successfully, 15 total actions
Test cases: finished with 20 passing and 0 failing out of 20 test cases

Executed 3 out of 5 tests: 5 tests pass.
"""

FAILED = """\
//out:broken_test                                               FAILED TO BUILD
//out:cancelled_test                                            FAILED TO BUILD
//out:unstarted_test                                                  NO STATUS
//out:slow_test                                                         TIMEOUT in 2.0s
//out:bad_test                                                           FAILED in 0.0s
    PASSED  Sum.AddsUp (0.0s)
    FAILED  Sum.TakesAway (0.1s)
Test cases: finished with 3 passing and 2 failing out of 5 test cases

Executed 3 out of 7 tests: 2 tests pass, 2 fail to build and 2 fail locally.
"""

UNPARSED = """\
WARNING: Target pattern parsing failed.
ERROR: command succeeded, but there were errors parsing the target pattern
"""

LIBRARY_BROKEN = """\
Test cases: finished with 2 passing and 0 failing out of 2 test cases

Executed 0 out of 1 test: 1 test passes.
All tests passed but there were other errors during the build.
"""


class TestSummaryTest(unittest.TestCase):

    def summarise(self, *steps):
        """The exit code and the lines for steps of (log, status)."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, (log, status) in enumerate(steps):
                paths.append(os.path.join(folder, "step%d" % number))
                self.write(paths[-1] + ".log", log)
                self.write(paths[-1] + ".status", "75 %d\n" % status)
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                code = test_summary.main(paths)
        return code, output.getvalue().splitlines()

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_adds_the_steps_up(self):
        self.assertEqual(self.summarise((PASSED, 0), (PASSED, 0)), (0, [
            "step0: 20 test cases in 5 targets, 2 of them from the cache, "
            "in 1 min 15 s",
            "step1: 20 test cases in 5 targets, 2 of them from the cache, "
            "in 1 min 15 s",
            "40 passed, 0 failed"]))

    def test_counts_what_did_not_run_as_failed(self):
        self.assertEqual(self.summarise((FAILED, 1)), (1, [
            "step0: 8 test cases in 7 targets, 1 of them from the cache, "
            "in 1 min 15 s; exit code 1",
            "    //out:broken_test FAILED TO BUILD",
            "    //out:cancelled_test FAILED TO BUILD",
            "    //out:unstarted_test NO STATUS",
            "    //out:slow_test TIMEOUT in 2.0s",
            "    //out:bad_test FAILED in 0.0s",
            "    FAILED Sum.TakesAway (0.1s)",
            "3 passed, 5 failed"]))

    def test_names_forty_failures(self):
        log = "".join("//out:t%d_test  FAILED in 0.0s\n" % n for n in range(42))
        _, lines = self.summarise((log + FAILED, 1))
        self.assertEqual(len(lines), 1 + 40 + 1 + 1)
        self.assertEqual(lines[-2], "    and 8 more")

    def test_a_run_that_failed_without_a_failed_test_is_a_failure(self):
        for log, last in [(UNPARSED, "0 passed, 1 failed"),
                          (LIBRARY_BROKEN, "2 passed, 1 failed"),
                          ("", "0 passed, 1 failed")]:
            code, lines = self.summarise((log, 1))
            self.assertEqual((code, lines[-1]), (1, last))

    def test_one_bad_step_among_good_ones_is_a_failure(self):
        code, lines = self.summarise((PASSED, 0), (UNPARSED, 1))
        self.assertEqual((code, lines[-1]), (1, "20 passed, 1 failed"))

    def test_nothing_tested_is_a_failure(self):
        self.assertEqual(self.summarise(("", 0))[0], 1)

    def test_says_when_the_time_was_up(self):
        _, lines = self.summarise((PASSED, 124))
        self.assertIn("; stopped for lack of time", lines[0])
        self.assertEqual(lines[-1], "20 passed, 1 failed")


if __name__ == "__main__":
    unittest.main()
